"""Nightly comparison of the workers' states with a recomputation of history."""
