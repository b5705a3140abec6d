"""Simulated workers on an in-memory broker; a seed decides the order of steps and the faults."""
