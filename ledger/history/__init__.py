"""Bulk imports of past facts, with one statement per table and day."""
