"""`stock.events` as Parquet files, each written once and listed in a manifest."""
