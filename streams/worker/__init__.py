"""The worker process: it connects Faust, which manages the group membership, with the engine."""
