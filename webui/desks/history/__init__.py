"""The analyst desk: runs, differences, reviews, proofs and questions over the whole history."""
