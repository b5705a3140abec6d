"""The HTTP server of a worker, which answers queries about keys, partitions, health and metrics."""
