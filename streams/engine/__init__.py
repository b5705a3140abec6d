"""The hot path of a worker: chunks, state, transactions, restore. Knows nothing of Faust."""
