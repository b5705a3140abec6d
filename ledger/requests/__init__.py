"""Requests of the analyst desk: made on a page, confirmed by an operator, executed by `prover`."""
