"""One line of the doctor's table."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warning", "failure"]


@dataclass(frozen=True, slots=True)
class Row:
    """A check, what it found, and the exact command that repairs it when it is not ok."""

    name: str
    verdict: Verdict
    found: str
    repair: str = ""

    @property
    def mark(self) -> str:
        """One sign for the table."""
        return {"ok": "✔", "warning": "!", "failure": "✘"}[self.verdict]


def judge(name: str, *, well: bool, found: str, repair: str, mild: bool = False) -> Row:
    """A row that is ok, or else a failure (a warning when `mild`) with its repair."""
    if well:
        return Row(name, "ok", found)
    return Row(name, "warning" if mild else "failure", found, repair)
