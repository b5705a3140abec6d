"""What every area of the system of record shares: transactions, checks, errors, messages."""
