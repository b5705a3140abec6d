"""The sinks: processes that write the workers' output into Postgres, each record exactly once."""
