"""Policy columns that a logic revision sets instead of the log's values (domain.md 2.6)."""
