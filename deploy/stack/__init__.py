"""The stack without containers: Postgres, Kafka and all other services as child processes."""
