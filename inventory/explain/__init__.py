"""The explanation of a key's numbers, as lines in a fixed order (domain.md 5, Explanation).

The item page, `inventory explain` and `inventory backfill diff` print these same lines.
"""
