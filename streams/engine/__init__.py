"""The part of a worker that computes: chunks, state, transactions and restore, without Faust."""
