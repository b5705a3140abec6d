"""Change capture from Postgres to Kafka, and the formats of all records that processes exchange."""
