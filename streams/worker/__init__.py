"""The worker process: it connects Faust, which does the group membership, with the engine."""
