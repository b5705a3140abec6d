"""Sales: one row per line of a till receipt."""
