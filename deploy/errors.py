"""Errors of the local stack, each with a message and the command that repairs the cause."""


class StackError(RuntimeError):
    """An operation failed. `repair` is the command that repairs the cause, or "" if none is known.

    `exit_code` is the exit code with which a command of the CLI ends.
    """

    def __init__(self, message: str, *, repair: str = "") -> None:
        super().__init__(message)
        self.repair = repair
        self.exit_code = 1


class MissingPrerequisite(StackError):
    """A program that the stack needs is not on this machine and could not be installed."""
