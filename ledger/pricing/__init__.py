"""Prices of items, and decisions on price proposals."""
