"""Pages for price proposals and price changes."""
