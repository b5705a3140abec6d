"""Import of sales files."""
