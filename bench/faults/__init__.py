"""Random faults on a running stack under load, and checks of the stack's guarantees afterwards."""
