"""Nightly comparison of the live state with a recomputation of history."""
