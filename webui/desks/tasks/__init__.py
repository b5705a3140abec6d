"""Pages for tasks. A task states a problem, the role that solves it, numbers, and the next step."""
