"""Explanation of a key's numbers in fixed lines (domain.md 5, Explanation), for every reader."""
