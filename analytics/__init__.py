"""The archive of `stock.events`, recomputation from it, and comparison with the live state."""
