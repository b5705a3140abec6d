"""Verification of the audit log's hash chain (`app.action_chain`).

Each entry of the chain has a number (`place`: 1, 2, 3 …), the hash of its predecessor, and the hash
of its own log entry (`app.action_log`). `verify` checks that no number is missing, that each entry
has its predecessor's hash, and that each log entry still has the hash in the chain. It also checks
that the chain still contains the head. The head is a copy of the newest entry's number and hash, in
a file outside of Postgres.

A SELECT statement of this module computes the hashes. It doesn't call the database function with
which the chain was written, because an owner of the database could have replaced that function.
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
    """A defect of the chain, described by `found`.

    `place` is the number of the chain's entry at which `verify` found the defect. It is None if a
    log entry has no entry in the chain. `action_id` is the id of the log entry. It is None if the
    chain doesn't contain the head in the file.
    """

    place: int | None
    action_id: int | None
    found: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of a verification: the last entry's number and hash, and the first 20 breaks."""

    head: Head
    breaks: tuple[Break, ...]


def verify(connection: psycopg.Connection, outside: Head) -> Verdict:
    """Verify the complete chain; return its last entry and the first 20 breaks.

    It is also a break if the chain no longer contains the head `outside`.

    All reads use one Postgres snapshot. Read `outside` from its file before this call. A head
    that is read later may belong to an entry newer than the snapshot, and `verify` would report
    this entry as removed.
    """
    with connection.transaction():
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        head, breaks = _verify_chain(connection, outside)
        for row in connection.execute(_UNCHAINED, (_MOST,)):
            breaks.append(
                Break(
                    None,
                    int(row[0]),
                    "the entry is not in the chain: it was inserted without the log's trigger",
                )
            )
    return Verdict(head, tuple(breaks[:_MOST]))


def _verify_chain(connection: psycopg.Connection, outside: Head) -> tuple[Head, list[Break]]:
    last, breaks, is_met = Head(0, GENESIS), list[Break](), not outside.place
    for row in _rows(connection):
        if row.place != last.place + 1:
            missing = f"chain entries {last.place + 1} to {row.place - 1} are missing"
            breaks.append(Break(row.place, row.action_id, missing))
        elif row.previous != last.hash:
            breaks.append(Break(row.place, row.action_id, "the hash of its predecessor differs"))
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
    """Return the break for a chain that doesn't contain `outside`, the head in the file.

    `last` is the chain's last entry in Postgres.
    """
    if outside.place > last.place:
        found = f"the chain ends at entry {last.place}: later entries were removed"
    else:
        found = "the hash in the file outside of Postgres differs: the chain was written again"
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
