"""`inventory verify`: is every number what the facts in Postgres say?

Workers' state (their changelogs) and read model are held against SQL sums over the facts. With
trade going on, a number may be on its way while it is compared: keys that differ are looked at
again behind a new barrier, and only what still differs, unchanged on its way, is reported.
"""

import time
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from analytics.live_state import LiveState
from analytics.verification import late, sums
from analytics.verification.barrier import Barrier, NotCaughtUp
from analytics.verification.compare import (
    Difference,
    Found,
    compare_levels,
    compare_windows,
    wanted_keys,
)
from analytics.verification.rejections import Rejections, read_rejections
from analytics.verification.reorders import Reorders, check_reorders
from cdc.settings import Connections

__all__ = ["BehindReport", "VerifyReport", "verify"]

LOOKS: Final = 5  # how often keys that differ are looked at, at most
_SHOWN: Final = 20


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was compared, what differs, and the totals of the part that was asked for."""

    location: str | None
    as_of_us: int
    totals: dict[str, int]
    keys: tuple[Difference, ...]
    windows: tuple[Difference, ...]
    reorders: Reorders
    rejections: Rejections
    seconds: float

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
            "records_rejected": self.rejections.records,
            "rejected_by_reason": self.rejections.by_reason,
            "rows_left_out": [f"{table} {row_id}" for table, row_id in self.rejections.excluded],
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


@dataclass(frozen=True, slots=True)
class _Look:
    """One comparison: what SQL, workers and read model said at one moment."""

    found: Found
    totals: dict[str, int]
    rejections: Rejections
    reorders: Reorders

    @property
    def suspects(self) -> list[str]:
        """Keys that have to be looked at again."""
        return sorted({*self.found.touched, *(entry["key"] for entry in self.reorders.missing)})

    @property
    def differences(self) -> tuple[object, ...]:
        """Everything that differs, with both values, for comparing two looks."""
        return (self.found.keys, self.found.windows, self.reorders.missing)


def verify(
    location: str | None = None, timeout: float = 120.0, *, settings: Connections | None = None
) -> VerifyReport | BehindReport:
    """Wait until the pipeline has caught up with this moment, then compare everything."""
    known = settings or Connections()
    url = known.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        try:
            return _verified(connection, Barrier(known, connection, timeout), location)
        except NotCaughtUp as problem:
            return BehindReport(location, problem.behind, timeout)


def _verified(
    connection: psycopg.Connection, barrier: Barrier, location: str | None
) -> VerifyReport:
    started = time.monotonic()
    live = LiveState(barrier.settings)
    as_of_us = barrier.pass_now()
    first = last = _look(connection, live, location, only=None)
    for _ in range(LOOKS - 1):
        if not last.suspects:
            break
        before = last
        as_of_us = barrier.pass_now()
        last = _look(connection, live, location, only=before.suspects)
        if last.differences == before.differences:
            break
    return VerifyReport(
        location=location,
        as_of_us=as_of_us,
        totals=first.totals,
        keys=tuple(last.found.keys[key] for key in sorted(last.found.keys)),
        windows=tuple(last.found.windows[place] for place in sorted(last.found.windows)),
        reorders=Reorders(first.reorders.open, last.reorders.duplicates, last.reorders.missing),
        rejections=first.rejections,
        seconds=time.monotonic() - started,
    )


def _look(
    connection: psycopg.Connection, live: LiveState, location: str | None, *, only: list[str] | None
) -> _Look:
    """Compare all keys of the location, or only those given, in one snapshot of the database."""
    live.refresh()
    asked: dict[str, Any] = {"location": location, "only": only}
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        rejections = read_rejections(connection, location)
        uncounted = late.late_contributions(connection, live.settings, location)
        asked |= rejections.parameters() | late.parameters(uncounted)
        found = Found()
        compare_levels(connection, live, asked, found)
        compare_windows(connection, live, asked, found)
        states = [live.levels[key] for key in wanted_keys(live, asked)]
        reorders = check_reorders(connection, states, location)
        totals = _totals(connection, asked, found) if only is None else {}
    if only is None:
        totals["units_on_hand_total"] = sum(state.on_hand_units for state in states)
        _add_late(totals, uncounted)
    return _Look(found, totals, rejections, reorders)


def _totals(connection: psycopg.Connection, asked: dict[str, Any], found: Found) -> dict[str, int]:
    shown = connection.execute(sums.WINDOW_TOTALS, asked).fetchone()
    committed = connection.execute(sums.COMMITTED, asked).fetchone()
    if shown is None or committed is None:
        problem = "a query for totals gave no row"
        raise RuntimeError(problem)
    return {
        "keys_compared": found.keys_compared,
        "windows_compared": shown[0],
        "sale_lines_committed": committed[0],
        "sale_lines_counted": shown[2],
        "net_units_sold": shown[3],
        "revenue_minor": shown[4],
    }


def _add_late(totals: dict[str, int], uncounted: list[late.Contribution]) -> None:
    """Units and money of late lines were sold too; no window counts them."""
    totals["sale_lines_late"] = sum(one.sale_lines + one.return_lines for one in uncounted)
    totals["net_units_sold"] += sum(one.sold - one.returned for one in uncounted)
    totals["revenue_minor"] += sum(one.revenue for one in uncounted)
