"""The desk History: recomputations of history (runs), their differences, proofs, questions."""
