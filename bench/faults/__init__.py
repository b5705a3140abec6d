"""Random faults on a running stack under load, and checks of its guarantees afterwards."""
