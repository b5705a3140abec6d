"""The error of a benchmark, with a message for the person who ran the command."""


class BenchFailed(RuntimeError):
    """A benchmark failed: a service ended, results differ, or written data did not arrive."""
