"""Proofs: stored results of comparisons of the live state with a recomputation of history."""
