"""The hot path of a worker: chunks, state, transactions, restore. It does not use Faust."""
