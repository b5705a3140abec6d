"""Rows of the table that `inventory bench faults --all` prints."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

HEAD: Final = f"{'fault':<28} {'status s':>8} {'well s':>7} {'row s':>6}  result"


@dataclass(slots=True)
class Outcome:
    """Result of one fault.

    `problems` has one sentence per failed requirement. It is empty if the stack met all of them.
    Times are in seconds. `status_s` is the time from the fault to the first right answer of
    `status`, and `shown` summarizes that answer. `well_s` is the time from the fault until the
    stack had no problem. `seconds` is the duration of the fault with all its checks.
    """

    fault: str
    status_s: float | None = None
    shown: str = ""
    well_s: float | None = None
    repairs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Return True if the stack met every requirement."""
        return not self.problems

    def line(self) -> str:
        """Return one row of the table."""
        after = "-" if self.status_s is None else f"{self.status_s:.1f}"
        well = "-" if self.well_s is None else f"{self.well_s:.0f}"
        how = " ; ".join(self.repairs) or "by itself"
        end = "ok" if self.ok else "FAILED: " + "; ".join(self.problems)
        shown = f" [{self.shown}]" if self.shown else ""
        return f"{self.fault:<28} {after:>8} {well:>7} {self.seconds:>6.0f}  {end}{shown} ({how})"


def as_json(outcomes: Sequence[Outcome], skipped: dict[str, str]) -> dict[str, Any]:
    """Return the report for programs; `skipped` maps names of faults to reasons."""
    return {
        "ok": all(outcome.ok for outcome in outcomes),
        "skipped": skipped,
        "faults": [
            {
                "fault": outcome.fault,
                "ok": outcome.ok,
                "status_s": outcome.status_s,
                "shown": outcome.shown,
                "well_s": outcome.well_s,
                "seconds": outcome.seconds,
                "repairs": outcome.repairs,
                "problems": outcome.problems,
            }
            for outcome in outcomes
        ],
    }
