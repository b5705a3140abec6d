"""Throughput of each sink alone: archiver, projector, actuator and the live feed of the pages."""
