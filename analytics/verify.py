"""`inventory verify`: compare every number with the facts in Postgres.

The workers' states (from their changelogs) and the read model are compared with SQL sums over the
facts. All are taken at one cut while trade continues (docs/decisions/0023). Keys that differ are
compared again at a later cut.

A difference counts if every comparison shows it. A difference also counts if a row of the read
model contradicts the changelog record that it was written from. If all differences of a comparison
are of this second kind, no later comparison is needed.
"""

import time
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from confluent_kafka import KafkaException

from analytics.kafka import TopicUnreadable
from analytics.verification.barrier import Barrier, NotCaughtUp
from analytics.verification.changelogs import Changelogs
from analytics.verification.comparison import Comparer, Comparison
from analytics.verification.differences import Difference
from analytics.verification.rejections import Rejections
from analytics.verification.reorders import Reorders
from cdc.settings import Connections

__all__ = ["BehindReport", "VerifyReport", "verify"]

MOST_COMPARISONS: Final = 3  # maximum number of comparisons, including the first
_SHOWN: Final = 20
_AGAIN_S: Final = 0.5
# Errors of a broker or Postgres that is unavailable, or that becomes unavailable during a query.
_AWAY: Final = (KafkaException, TopicUnreadable, TimeoutError, psycopg.OperationalError)


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """All differences found, and the totals of the requested location.

    Totals are those of one cut at `as_of_us` (microseconds since 1970 UTC). `resolved` is the
    number of keys that differed in the first comparison and were equal in a later one. `undecided`
    keys differed in one comparison, and the pipeline did not catch up in time for the next. A
    report has undecided keys only if other differences are certain.
    """

    location: str | None
    as_of_us: int
    totals: dict[str, int]
    keys: tuple[Difference, ...]
    windows: tuple[Difference, ...]
    reorders: Reorders
    rejections: Rejections
    seconds: float
    comparisons: int = 1
    resolved: int = 0
    undecided: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Return True if no difference, no duplicate and no missing reorder was found.

        Equal windows show that no committed sale or return line is missing: a window counts each
        line that wasn't late or rejected.
        """
        return not (self.keys or self.windows or self.reorders.duplicates or self.reorders.missing)

    @property
    def exit_code(self) -> int:
        """Return 0 if all is equal, else 1."""
        return 0 if self.ok else 1

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "ok": self.ok,
            "location": self.location,
            **self.totals,
            "keys_differing": len(self.keys),
            "windows_differing": len(self.windows),
            "comparisons": self.comparisons,
            "keys_equal_in_a_later_comparison": self.resolved,
            "keys_undecided": list(self.undecided),
            "records_rejected": self.rejections.records,
            "rejected_by_reason": self.rejections.by_reason,
            "rows_left_out": [f"{table} {row_id}" for table, row_id in self.rejections.excluded],
            "counts_beside_a_folded_one": [
                row_id for _, row_id in self.rejections.possibly_doubled
            ],
            "sale_lines_rejected": self.rejections.sale_lines,
            "open_reorders": self.reorders.open,
            "duplicate_reorders": len(self.reorders.duplicates),
            "missing_reorders": len(self.reorders.missing),
            "as_of": self.as_of_us,
            "seconds": round(self.seconds, 3),
            # All keys, and not only the first ones as in `differences`.
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
    """The pipeline did not catch up in time, for the first comparison or for a repeated one.

    `behind` names what was missing or did not answer.
    """

    location: str | None
    behind: dict[str, Any]
    timeout_s: float
    ok: bool = False
    exit_code: int = 2

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
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
    """Wait until the pipeline has caught up with the present, then compare everything.

    If a service restarts meanwhile, wait for it and begin the comparison again. If the pipeline
    doesn't catch up within `timeout` seconds, return a `BehindReport`. But if some differences are
    certain by then, return a report of these differences.
    """
    known = settings or Connections()
    deadline = time.monotonic() + timeout
    while True:
        try:
            return _attempted(known, location, max(0.0, deadline - time.monotonic()))
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
    comparisons, undecided = _repeated(
        Comparer(connection, barrier, location, Changelogs(barrier.settings))
    )
    return _report(comparisons, undecided, location, time.monotonic() - started)


def _repeated(comparer: Comparer) -> tuple[list[Comparison], tuple[str, ...]]:
    """Compare until no difference is uncertain. Return all comparisons and the undecided keys.

    Make at most `MOST_COMPARISONS` comparisons.

    Raises:
        NotCaughtUp: the pipeline did not catch up for a comparison, and no difference is certain.
    """
    comparisons = [comparer.compare()]
    while (uncertain := comparisons[-1].uncertain) and len(comparisons) < MOST_COMPARISONS:
        try:
            comparisons.append(comparer.compare(comparisons[-1].differing_keys))
        except NotCaughtUp as problem:
            if not any(comparison.found.certain for comparison in comparisons):
                raise problem.with_undecided(uncertain) from problem
            return comparisons, tuple(uncertain)
    return comparisons, ()


def _report(
    comparisons: list[Comparison], undecided: tuple[str, ...], location: str | None, seconds: float
) -> VerifyReport:
    """Return the report. If keys are `undecided`, only differences that are certain count."""
    first, last = comparisons[0], comparisons[-1]
    keys, windows = _certain(comparisons)
    if not undecided:
        keys |= last.found.keys
        windows |= last.found.windows
    open_keys = {*last.differing_keys, *keys, *(key for key, _ in windows)}
    missing = () if undecided else last.reorders.missing
    return VerifyReport(
        location=location,
        as_of_us=first.as_of_us,
        totals=first.totals,
        keys=tuple(keys[key] for key in sorted(keys)),
        windows=tuple(windows[window_key] for window_key in sorted(windows)),
        reorders=Reorders(first.reorders.open, last.reorders.duplicates, missing),
        rejections=first.rejections,
        comparisons=len(comparisons),
        resolved=len(set(first.differing_keys) - open_keys),
        undecided=undecided,
        seconds=seconds,
    )


def _certain(
    comparisons: list[Comparison],
) -> tuple[dict[str, Difference], dict[tuple[str, int], Difference]]:
    """Return the certain differences of all comparisons: those of keys, and those of windows.

    A difference is certain if no later record can explain it.
    """
    keys: dict[str, Difference] = {}
    windows: dict[tuple[str, int], Difference] = {}
    for comparison in comparisons:
        found = comparison.found
        keys |= {key: entry for key, entry in found.keys.items() if key in found.certain}
        windows |= {at: entry for at, entry in found.windows.items() if at in found.certain}
    return keys, windows
