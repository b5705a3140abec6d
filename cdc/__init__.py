"""The shared wire formats and capture: everything that Postgres, Debezium and Kafka agree on."""
