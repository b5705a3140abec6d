"""Plan, rounds and report of `inventory bench verify`."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from bench.verification.planted_errors import KINDS

SOUND: Final = "sound"
LONGEST_SHOWN: Final = 300


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a run. Every `plant_every`th round has a wrong row, of each kind in turn."""

    rounds: int
    load: int
    seed: int
    plant_every: int
    timeout_s: float
    kinds: Sequence[str] = KINDS

    def kind_of(self, number: int) -> str:
        """Return the kind of wrong row in round `number` (from 0), `SOUND` if there is none."""
        turn, rest = divmod(number + 1, self.plant_every)
        return SOUND if rest else self.kinds[(turn - 1) % len(self.kinds)]


@dataclass(frozen=True, slots=True)
class Round:
    """One comparison, with the key of its planted row in `what` and the exit code of `verify`.

    `is_there` is True if the row was still wrong at the end. `named` are the reported keys.
    `in_flight` is the number of changed rows that readers had not applied yet at the comparison.
    `repaired` is the number of earlier tries of this round in which the stack replaced the wrong
    row and `verify` reported nothing. `seconds` is the duration of the last try.
    """

    kind: str
    exit_code: int
    seconds: float
    in_flight: int = 0
    what: str = ""
    is_there: bool = False
    named: frozenset[str] = frozenset()
    repaired: int = 0
    behind: str = ""

    @property
    def is_wrong(self) -> bool:
        """Return True for a false alarm, a missed wrong row, or a report of another key."""
        if self.exit_code == 1:
            return self.named != {self.what}
        return self.exit_code == 0 and self.is_there

    @property
    def is_repaired(self) -> bool:
        """Return True if the stack replaced the wrong row before `verify` compared it."""
        return self.kind != SOUND and self.exit_code == 0 and not self.is_there

    @property
    def is_undecided(self) -> bool:
        """Return True if `verify` ended with 2, or the stack replaced the wrong row too early."""
        return self.exit_code not in (0, 1) or self.is_repaired

    def as_text(self) -> str:
        """Return the round as one line for a terminal."""
        verdict = "WRONG" if self.is_wrong else "undecided" if self.is_undecided else "right"
        parts = [f"{self.kind}, exit {self.exit_code}: {verdict}", f"{self.seconds:.1f} s"]
        parts.append(f"{self.in_flight} rows in flight")
        if self.is_wrong:
            parts.append(f"planted {self.what!r}, reported {sorted(self.named)}"[:LONGEST_SHOWN])
        if self.behind:
            parts.append(self.behind)
        return ", ".join(parts)


@dataclass(slots=True)
class Report:
    """All rounds during the simulated trade, and the comparison after the trade has ended.

    `seconds` is the duration of the trade. `problem` is the reason for an early end of the rounds.
    `at_rest` is the exit code of the comparison after the trade.
    """

    plan: Plan
    rounds: list[Round] = field(default_factory=list)
    lines: int = 0
    seconds: float = 0.0
    at_rest: int = 2
    problem: str | None = None

    @property
    def exit_code(self) -> int:
        """Return 1 if `verify` was wrong, else 2 if a comparison is undecided, else 0.

        Return 2 also if the rounds ended early.
        """
        if self.at_rest == 1 or any(one.is_wrong for one in self.rounds):
            return 1
        is_open = self.problem is not None or any(one.is_undecided for one in self.rounds)
        return 2 if is_open or self.at_rest else 0

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "ok": self.exit_code == 0,
            "problem": self.problem,
            "rounds": len(self.rounds),
            "load": self.plan.load,
            "seed": self.plan.seed,
            "sale_lines": self.lines,
            "seconds": round(self.seconds, 1),
            "lines_per_second": round(self.lines / self.seconds, 1) if self.seconds else None,
            "exit_code_at_rest": self.at_rest,
            "kinds": {kind: self._counted(kind) for kind in (SOUND, *self.plan.kinds)},
        }

    def rows(self) -> list[tuple[object, ...]]:
        """Return one table row for rounds without a wrong row, and one per kind of wrong row.

        The rows have the columns `COLUMNS`.
        """
        return [tuple(counts.values()) for counts in self.as_json()["kinds"].values()]

    def _counted(self, kind: str) -> dict[str, object]:
        found = [one for one in self.rounds if one.kind == kind]
        seconds = [one.seconds for one in found]
        return {
            "planted": kind,
            "rounds": len(found),
            **{f"exit {code}": sum(one.exit_code == code for one in found) for code in (0, 1, 2)},
            "repaired": sum(one.repaired + one.is_repaired for one in found),
            "undecided": sum(one.is_undecided for one in found),
            "wrong": sum(one.is_wrong for one in found),
            "median s": round(statistics.median(seconds), 1) if seconds else None,
            "max s": round(max(seconds), 1) if seconds else None,
            "in flight": max((one.in_flight for one in found), default=0),
        }


COLUMNS: Final = (
    *("planted", "rounds", "exit 0", "exit 1", "exit 2", "repaired", "undecided", "wrong"),
    *("median s", "max s", "in flight"),
)
