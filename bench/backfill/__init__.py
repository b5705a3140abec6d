"""`inventory bench backfill`: the cost of a recomputation, by engine and size."""
