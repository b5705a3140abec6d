"""Policy values that a logic revision uses instead of the log's values (domain.md 2.6)."""
