"""Where a recomputation runs: one task, carried by a process pool or by Spark."""
