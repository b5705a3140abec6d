"""Recomputing history: one module per verb."""
