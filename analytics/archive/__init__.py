"""`stock.events` as Parquet: written once, by partition and offset, listed in a manifest."""
