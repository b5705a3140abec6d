"""Pages for reorder needs."""
