"""The HTTP interface of a worker: one key, its partitions, health, metrics."""
