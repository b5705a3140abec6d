"""History: the archive, its recomputation, and the comparison with what is live."""
