"""The fold of a record into the state of its key (domain.md 2, 3, 11.1).

`record` has the fold itself, and `partition` applies it to all keys of a partition. Each other
module computes a part of the result, for example stock or demand.
"""
