"""The engines of a recomputation: one task, run by a process pool or by Spark."""
