"""Judge a record before it is folded: duplicates, limits, row images."""
