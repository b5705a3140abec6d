"""Orders and prices that a key's numbers call for."""
