"""Throughput of two workers against one, and latency of queries while workers catch up."""
