"""Schema of the read model; every step reverses."""
