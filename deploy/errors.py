"""Errors of the local stack: a cause, and the command that repairs it."""


class StackError(RuntimeError):
    """The requested operation failed; `repair` is a command for the reader, or empty.

    `exit_code` is the exit code of the command.
    """

    def __init__(self, message: str, *, repair: str = "") -> None:
        super().__init__(message)
        self.repair = repair
        self.exit_code = 1


class MissingPrerequisite(StackError):
    """A program that the stack needs is not on this machine and could not be installed."""
