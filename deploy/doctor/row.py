"""One line of the doctor's table."""

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["ok", "warning", "failure"]


@dataclass(frozen=True, slots=True)
class Row:
    """A check, what it found, and the exact command that repairs it when it is not ok.

    `kinds` are names of `deploy.doctor.failures.Failure` in lower case.
    """

    name: str
    verdict: Verdict
    found: str
    repair: str = ""
    kinds: tuple[str, ...] = ()

    @property
    def mark(self) -> str:
        """One sign for the table."""
        return {"ok": "✔", "warning": "!", "failure": "✘"}[self.verdict]


def ok(name: str, found: str) -> Row:
    """Return a row in which all is well."""
    return Row(name, "ok", found)
