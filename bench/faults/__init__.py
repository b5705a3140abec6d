"""Random faults on a running stack under load, and what is left of its promises."""
