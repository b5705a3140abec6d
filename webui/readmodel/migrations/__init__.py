"""Schema of the read model; every step is reversible."""
