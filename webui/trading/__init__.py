"""Traffic: the demo retailer, its seeded trading, and the import of sales files."""
