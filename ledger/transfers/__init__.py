"""Transfers between locations."""
