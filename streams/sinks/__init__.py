"""Processes that write the workers' output into Postgres, exactly once."""
