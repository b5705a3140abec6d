"""The fold of a record into the state of its key (domain.md 2, 3, 11.1).

`record` has the fold itself. Each other module computes one quantity of the state.
"""
