"""The analyst desk: recomputations of history (runs), their differences, proofs and questions."""
