"""Simulated worker processes on an in-memory broker; a seed decides interleaving and faults."""
