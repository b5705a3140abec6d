"""Parts of `inventory verify`: the wait, the SQL sums, the workers' state, the comparison."""
