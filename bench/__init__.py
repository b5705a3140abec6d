"""Benchmarks and simulations; some need a running stack."""
