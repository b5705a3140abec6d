"""Sales and returns, one row per line of a till receipt."""
