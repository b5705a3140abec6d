"""Parts that all areas of the system of record share: transactions, checks, errors, messages."""
