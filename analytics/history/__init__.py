"""History as typed tables, written once as Parquet. DuckDB and Spark use the same table names."""
