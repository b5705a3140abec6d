"""Checks of a record before it is folded (domain.md 2.2, 4, 11.2).

`dedupe` recognises records that were sent again. `validation` checks key, images and limits.
"""
