"""An error about files that differ from what was written: problem, what was kept, next step.

All three parts are in the text of the error. So a log line, a Spark task and the command line show
the same message. The arguments are plain strings, because pool processes pickle the error.
"""

from typing import Final

from typing_extensions import override

EXIT_CODE: Final = 1


class Damage(RuntimeError):
    """A file, line or directory differs from what was written, or can't be read."""

    exit_code = EXIT_CODE

    def __init__(self, problem: str, kept: str = "", step: str = "") -> None:
        super().__init__(problem, kept, step)
        self.problem = problem
        self.kept = kept
        self.step = step

    @override
    def __str__(self) -> str:
        """Return the problem, what was kept and the next step; leave out empty parts."""
        return "; ".join(part for part in (self.problem, self.kept, self.step) if part)
