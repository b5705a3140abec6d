"""Change capture from Postgres to Kafka.

The package creates topics and publication, registers the Debezium connector and keeps it running.
"""
