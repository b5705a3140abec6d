"""Simulated trading: the demo retailer, its seeded traffic, and the import of sales files."""
