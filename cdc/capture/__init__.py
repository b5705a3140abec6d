"""Change capture from Postgres to Kafka: the connector, its client and the topics."""
