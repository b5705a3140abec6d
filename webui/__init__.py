"""Django parts of the project: ledger, read model, pages and simulated trading."""
