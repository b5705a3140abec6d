"""Imports of past facts in bulk, one statement per table and day."""
