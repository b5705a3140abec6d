"""What a worker tells over HTTP: one key, its partitions, health, metrics."""
