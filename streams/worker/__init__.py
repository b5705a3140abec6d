"""One worker process: Faust for group membership, the engine for everything else."""
