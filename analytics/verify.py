"""`inventory verify`: compare every number with what the facts in Postgres say.

Workers' state (their changelogs) and read model are held against SQL sums over the facts, all at
one cut, with trade going on (docs/decisions/0023). Keys that differ are looked at again at a later
cut. A difference counts if it is there in every look, or if a row of the read model contradicts the
very changelog record that it was written from. If all differences of a look are of the second kind,
no later look is needed.
"""

import time
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from confluent_kafka import KafkaException

from analytics.kafka import TopicUnreadable
from analytics.verification.barrier import Barrier, NotCaughtUp
from analytics.verification.changelogs import Changelogs
from analytics.verification.compare import Difference
from analytics.verification.look import Look, Looker
from analytics.verification.rejections import Rejections
from analytics.verification.reorders import Reorders
from cdc.settings import Connections

__all__ = ["BehindReport", "VerifyReport", "verify"]

LOOKS: Final = 3  # how often keys that differ are looked at, at most
_SHOWN: Final = 20
_AGAIN_S: Final = 0.5
# Broker or Postgres is away, or went away in the middle of an answer.
_AWAY: Final = (KafkaException, TopicUnreadable, TimeoutError, psycopg.OperationalError)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """Everything that was compared and that differs, and the totals of the part asked for.

    Totals are those of one cut at `as_of_us`. `settled` keys differed in the first look and were
    equal in a later one. `undecided` keys differed in a look, and the pipeline did not catch up in
    time for the next; such a report exists only if other differences are certain.
    """

    location: str | None
    as_of_us: int
    totals: dict[str, int]
    keys: tuple[Difference, ...]
    windows: tuple[Difference, ...]
    reorders: Reorders
    rejections: Rejections
    seconds: float
    looks: int = 1
    settled: int = 0
    undecided: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """No difference, no duplicate, nothing missing.

        Equal windows also mean that every committed line is counted, late or rejected.
        """
        return not (self.keys or self.windows or self.reorders.duplicates or self.reorders.missing)

    @property
    def exit_code(self) -> int:
        """0 all equal, 1 something differs."""
        return 0 if self.ok else 1

    def as_json(self) -> dict[str, Any]:
        """The report for scripts (names: design of the command line)."""
        return {
            "ok": self.ok,
            "location": self.location,
            **self.totals,
            "keys_differing": len(self.keys),
            "windows_differing": len(self.windows),
            "looks": self.looks,
            "keys_equal_in_a_later_look": self.settled,
            "keys_undecided": list(self.undecided),
            "records_rejected": self.rejections.records,
            "rejected_by_reason": self.rejections.by_reason,
            "rows_left_out": [f"{table} {row_id}" for table, row_id in self.rejections.excluded],
            "counts_beside_a_folded_one": [row_id for _, row_id in self.rejections.beside],
            "sale_lines_rejected": self.rejections.sale_lines,
            "open_reorders": self.reorders.open,
            "duplicate_reorders": len(self.reorders.duplicates),
            "missing_reorders": len(self.reorders.missing),
            "as_of": self.as_of_us,
            "seconds": round(self.seconds, 3),
            # The exceptions to "every need is answered": all of them, not a sample.
            "missing_reorder_keys": [entry["key"] for entry in self.reorders.missing],
            "differences": {
                "keys": list(self.keys[:_SHOWN]),
                "windows": list(self.windows[:_SHOWN]),
                "duplicate_reorders": list(self.reorders.duplicates[:_SHOWN]),
                "missing_reorders": list(self.reorders.missing[:_SHOWN]),
            },
        }


@dataclass(frozen=True, slots=True)
class BehindReport:
    """Nothing was compared: the pipeline did not catch up in time."""

    location: str | None
    behind: dict[str, Any]
    timeout_s: float
    ok: bool = False
    exit_code: int = 2

    def as_json(self) -> dict[str, Any]:
        """The report for scripts."""
        return {
            "ok": False,
            "location": self.location,
            "caught_up": False,
            "timeout_s": self.timeout_s,
            "behind": self.behind,
        }


def verify(
    location: str | None = None, timeout: float = 120.0, *, settings: Connections | None = None
) -> VerifyReport | BehindReport:
    """Wait until the pipeline has caught up with this moment, then compare everything.

    A part that restarts meanwhile is waited for: the comparison then begins again.
    """
    known = settings or Connections()
    deadline = time.monotonic() + timeout
    while True:
        try:
            return _attempted(known, location, max(1.0, deadline - time.monotonic()))
        except NotCaughtUp as problem:
            return BehindReport(location, problem.behind, timeout)
        except _AWAY as problem:
            if time.monotonic() > deadline:
                behind = {"not answering": f"{type(problem).__name__}: {problem}".strip()[:300]}
                return BehindReport(location, behind, timeout)
            time.sleep(_AGAIN_S)


def _attempted(known: Connections, location: str | None, timeout: float) -> VerifyReport:
    url = known.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        return _verified(connection, Barrier(known, connection, timeout), location)


def _verified(
    connection: psycopg.Connection, barrier: Barrier, location: str | None
) -> VerifyReport:
    started = time.monotonic()
    looks, undecided = _looked(Looker(connection, barrier, location, Changelogs(barrier.settings)))
    return _report(looks, undecided, location, time.monotonic() - started)


def _looked(looker: Looker) -> tuple[list[Look], tuple[str, ...]]:
    """Look until nothing is uncertain, at most `LOOKS` times; return the keys left undecided.

    Raises:
        NotCaughtUp: the pipeline did not catch up for a look, and nothing certain is known.
    """
    looks = [looker.look()]
    while (uncertain := looks[-1].uncertain) and len(looks) < LOOKS:
        try:
            looks.append(looker.look(looks[-1].suspects))
        except NotCaughtUp as problem:
            if not any(look.found.certain for look in looks):
                raise problem.with_undecided(uncertain) from problem
            return looks, tuple(uncertain)
    return looks, ()


def _report(
    looks: list[Look], undecided: tuple[str, ...], location: str | None, seconds: float
) -> VerifyReport:
    """Return what the looks found; with `undecided` keys only what is certain counts."""
    first, last = looks[0], looks[-1]
    keys, windows = _certain(looks)
    if not undecided:
        keys |= last.found.keys
        windows |= last.found.windows
    open_keys = {*last.suspects, *keys, *(key for key, _ in windows)}
    missing = () if undecided else last.reorders.missing
    return VerifyReport(
        location=location,
        as_of_us=first.as_of_us,
        totals=first.totals,
        keys=tuple(keys[key] for key in sorted(keys)),
        windows=tuple(windows[place] for place in sorted(windows)),
        reorders=Reorders(first.reorders.open, last.reorders.duplicates, missing),
        rejections=first.rejections,
        looks=len(looks),
        settled=len(set(first.suspects) - open_keys),
        undecided=undecided,
        seconds=seconds,
    )


def _certain(
    looks: list[Look],
) -> tuple[dict[str, Difference], dict[tuple[str, int], Difference]]:
    """Differences that no moment explains, in whichever look they were seen."""
    keys: dict[str, Difference] = {}
    windows: dict[tuple[str, int], Difference] = {}
    for look in looks:
        found = look.found
        keys |= {key: entry for key, entry in found.keys.items() if key in found.certain}
        windows |= {at: entry for at, entry in found.windows.items() if at in found.certain}
    return keys, windows
