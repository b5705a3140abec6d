"""Recomputation of history: one module per subcommand of `inventory backfill`."""
