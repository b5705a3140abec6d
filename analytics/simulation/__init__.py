"""Simulated histories: the archived demand under other parameters. Nothing here publishes."""
