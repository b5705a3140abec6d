"""A second, independent implementation of the rules, and its comparison with the product's fold.

The code is as simple as possible: it keeps all facts of a key for ever and computes every number
from them. So it shows a mistake in the product's incremental computation.
"""
