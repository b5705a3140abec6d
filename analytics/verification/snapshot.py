"""Visibility of transactions in a Postgres snapshot, by the ids that Debezium writes into records.

A snapshot is a set of transactions, not a position in the write-ahead log: a commit record may be
decoded before its transaction becomes visible. So only transaction ids show what is visible.
"""

from dataclasses import dataclass
from typing import Final

import psycopg

_TAKEN: Final = """
SELECT pg_snapshot_xmin(s)::text::bigint, pg_snapshot_xmax(s)::text::bigint,
    array(SELECT x::text::bigint FROM pg_snapshot_xip(s) x),
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM pg_current_snapshot() s
"""
_EPOCH: Final = 1 << 32


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot of Postgres: the transactions that had ended at one time.

    These are the transactions with ids below `xmax`, except those in `running`. Ids have 64 bits,
    as `pg_current_snapshot()` returns them. `at_us` is the time in microseconds since 1970 UTC.
    """

    xmin: int
    xmax: int
    running: frozenset[int]
    at_us: int

    def sees(self, xid: int) -> bool:
        """Return True if the snapshot sees the committed transaction with the 32-bit id `xid`."""
        wide = self._widened(xid)
        return wide < self.xmin or (wide < self.xmax and wide not in self.running)

    def is_later(self, xid: int) -> bool:
        """Return True if the transaction began to write after the snapshot was taken."""
        return self._widened(xid) >= self.xmax

    def _widened(self, xid: int) -> int:
        """Return the 64-bit id nearest to `xmax` whose lower 32 bits are `xid`."""
        distance = (xid - self.xmax + _EPOCH // 2) % _EPOCH - _EPOCH // 2
        return self.xmax + distance


def current_snapshot(connection: psycopg.Connection) -> Snapshot:
    """Return the snapshot of the current transaction; in autocommit mode, a new snapshot."""
    row = connection.execute(_TAKEN).fetchone()
    if row is None:
        problem = "pg_current_snapshot() gave no row"
        raise RuntimeError(problem)
    return Snapshot(row[0], row[1], frozenset(row[2]), row[3])
