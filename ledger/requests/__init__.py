"""Requests of the analyst desk: asked on a page, confirmed by an operator, executed by `prover`."""
