"""Composition of all parts: their configuration, start, supervision and commands."""
