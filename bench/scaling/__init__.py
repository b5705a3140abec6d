"""Throughput of one and of two workers, and latency of queries while workers catch up."""
