"""Verification of the audit chain: entry contents, links, and the head kept outside of Postgres.

The hash is computed here. An owner of the database could replace the function there.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import psycopg
from psycopg.rows import class_row

from ledger.audit.head import Head

GENESIS: Final = "00" * 32
_BATCH: Final = 5_000
_MOST: Final = 20
_ROWS: Final = """
SELECT c.place, c.action_id, encode(c.previous, 'hex') AS previous, encode(c.hash, 'hex') AS hash,
    a.id IS NOT NULL AS is_there,
    encode(sha256(convert_to(jsonb_build_array(
        c.place, encode(c.previous, 'hex'), a.id,
        to_char(a.at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'),
        a.actor, a.action, a.subject, a.detail, a.command_id
    )::text, 'UTF8')), 'hex') AS found
FROM app.action_chain c LEFT JOIN app.action_log a ON a.id = c.action_id
WHERE c.place > %s ORDER BY c.place LIMIT %s
"""
_UNCHAINED: Final = """
SELECT a.id FROM app.action_log a
WHERE NOT EXISTS (SELECT FROM app.action_chain c WHERE c.action_id = a.id) ORDER BY a.id LIMIT %s
"""


class _Row(NamedTuple):
    place: int
    action_id: int
    previous: str
    hash: str
    is_there: bool
    found: str


@dataclass(frozen=True, slots=True)
class Break:
    """One broken position of the chain; `action_id` is None if no log entry is affected."""

    place: int | None
    action_id: int | None
    found: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """Result of one check: the last position that was read, and up to 20 breaks."""

    head: Head
    breaks: tuple[Break, ...]


def verify(connection: psycopg.Connection, outside: Head) -> Verdict:
    """Check the complete chain in one snapshot, and that it still contains the head `outside`.

    Read `outside` before the call: a head that is newer than the snapshot would look removed.
    """
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        head, breaks = _walk(connection, outside)
        for row in connection.execute(_UNCHAINED, (_MOST,)):
            breaks.append(Break(None, int(row[0]), "the entry has no place: inserted past the log"))
    return Verdict(head, tuple(breaks[:_MOST]))


def _walk(connection: psycopg.Connection, outside: Head) -> tuple[Head, list[Break]]:
    last, breaks, is_met = Head(0, GENESIS), list[Break](), not outside.place
    for row in _rows(connection):
        if row.place != last.place + 1:
            missing = f"places {last.place + 1} to {row.place - 1} are missing"
            breaks.append(Break(row.place, row.action_id, missing))
        elif row.previous != last.hash:
            breaks.append(Break(row.place, row.action_id, "the link to its predecessor differs"))
        if not row.is_there:
            breaks.append(Break(row.place, row.action_id, "the entry was deleted"))
        elif row.found != row.hash:
            breaks.append(Break(row.place, row.action_id, "the entry was changed"))
        last = Head(row.place, row.hash)
        is_met = is_met or last == outside
    if not is_met:
        breaks.append(_lost(last, outside))
    return last, breaks


def _lost(last: Head, outside: Head) -> Break:
    """Return the break of a chain that doesn't have the head kept outside."""
    if outside.place > last.place:
        found = f"the chain ends at {last.place}: its end was removed"
    else:
        found = "another hash was kept outside: the chain was written again"
    return Break(outside.place, None, found)


def _rows(connection: psycopg.Connection) -> Iterator[_Row]:
    place = 0
    while True:
        cursor = connection.cursor(row_factory=class_row(_Row))
        rows = cursor.execute(_ROWS, (place, _BATCH)).fetchall()
        yield from rows
        if len(rows) < _BATCH:
            return
        place = rows[-1].place
