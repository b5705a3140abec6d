"""The wire: what Postgres, Debezium and Kafka agree on."""
