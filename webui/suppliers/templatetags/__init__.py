"""Filters of the suppliers desk."""
