"""The Django side: ledger, read model, pages and traffic."""
