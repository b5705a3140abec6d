"""One worker process: Faust for membership, the engine for everything else."""
