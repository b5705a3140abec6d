"""History as typed tables: written once as Parquet, read by DuckDB and Spark under one name."""
