"""Restores of partitions by workers, as the supervisor recorded them from the workers' logs."""

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from ledger.kernel.rows import select, select_one

SHOWN: Final = 50
_RESTORES: Final = """
SELECT worker, partition, finished_at, seconds, records, keys, kept FROM read_model.restore
ORDER BY finished_at DESC, id DESC LIMIT %(most)s
"""
_TOTALS: Final = """
SELECT count(*)::int AS restores, max(seconds) AS longest_s,
       count(*) FILTER (WHERE kept)::int AS kept
FROM read_model.restore WHERE finished_at > clock_timestamp() - interval '24 hours'
"""


@dataclass(frozen=True, slots=True)
class PastRestore:
    """One restore of a partition by its new owner.

    `kept` is True if the worker still had the newest state from earlier, so it read nothing.
    """

    worker: str
    partition: int
    finished_at: datetime
    seconds: Decimal
    records: int
    keys: int
    kept: bool


@dataclass(frozen=True, slots=True)
class RestoreTotals:
    """Restores of the last 24 hours: their number, and the longest time in seconds.

    `kept` is the number of restores in which the worker still had the newest state.
    """

    restores: int
    longest_s: Decimal | None
    kept: int


def past_restores() -> list[PastRestore]:
    """Return the newest 50 restores, newest first."""
    return select(_RESTORES, {"most": SHOWN}, PastRestore)


def restore_totals() -> RestoreTotals:
    """Return the totals of the restores of the last 24 hours."""
    return select_one(_TOTALS, {}, RestoreTotals) or RestoreTotals(0, None, 0)
