"""Simulated histories: the archived demand with changed parameters. Nothing here publishes."""
