"""Counts and adjustments of stock: counting sheets, approvals, and the rows that result."""
