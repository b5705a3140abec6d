"""A second, independent reading of the rules, and the comparison with the product's own fold.

Everything here is written for obviousness: all facts of a key are kept for ever and every number
is computed again from them, so that a mistake in an incremental trick of the product shows.
"""
