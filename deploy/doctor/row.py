"""One line of the doctor's table."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warning", "failure"]


@dataclass(frozen=True, slots=True)
class Row:
    """Result of a check: the finding as text, and the repair command if the verdict is not ok.

    `kinds` has the failures that the check found: names of `deploy.doctor.failures.Failure` in
    lower case.
    """

    name: str
    verdict: Verdict
    found: str
    repair: str = ""
    kinds: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """Return one character for the table: ✔, ! or ✘."""
        return {"ok": "✔", "warning": "!", "failure": "✘"}[self.verdict]


def ok(name: str, found: str) -> Row:
    """Return the row of a check that found no problem."""
    return Row(name, "ok", found)
