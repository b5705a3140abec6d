"""Processes that carry what workers put out into Postgres, exactly once."""
