"""Parts of `inventory verify`: the wait, the sums over facts, workers' states, the comparison."""
