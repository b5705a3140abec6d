"""Differences between the decisions of two runs, for `inventory backfill diff`."""
