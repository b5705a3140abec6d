"""Change capture in Postgres: the publication, the replication slot and the row of `app.capture`.

Postgres 18 decodes a change with the publications that existed when the change was written. If the
publication was missing then, or lacked the change's table, Postgres skips the change with a warning
in its log. A publication that is created again doesn't bring the change back. `app.capture`
therefore stores the object ids of the publication that the source log began with. A publication
that is created again has other ids.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, LiteralString, TypeAlias

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from cdc.capture.client import PUBLICATION, SLOT
from cdc.contracts.topics import CAPTURED, REFERENCE_TABLES

SIGNALS: Final = "debezium_signal"
TABLES: Final = (*CAPTURED, *REFERENCE_TABLES, SIGNALS)

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

_PUBLICATION: Final[LiteralString] = """
SELECT oid::text || '.' || xmin::text, pubinsert AND pubupdate AND pubdelete AND pubtruncate
FROM pg_publication WHERE pubname = %s
"""
_TABLES: Final[LiteralString] = """
SELECT c.relname, r.oid::text || '.' || r.xmin::text, r.prqual IS NULL AND r.prattrs IS NULL
FROM pg_publication_rel r
JOIN pg_publication p ON p.oid = r.prpubid
JOIN pg_class c ON c.oid = r.prrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE p.pubname = %s AND n.nspname = 'retail'
"""
_IDENTITY: Final[LiteralString] = """
SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = 'retail' AND c.relname = ANY(%s) AND c.relreplident <> 'f' ORDER BY 1
"""
_SLOT: Final[LiteralString] = """
SELECT active, coalesce(wal_status, 'unknown'),
    coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn), 0)::bigint
FROM pg_replication_slots WHERE slot_name = %s AND database = current_database()
"""
# Someone may change the publication between `damage_of` and this statement. The stored ids must
# then stay, so that the next `damage_of` finds the change. Ids of new tables may be added.
_RECORD: Final[LiteralString] = """
UPDATE app.capture SET publication = %(found)s, changed_at = clock_timestamp()
WHERE publication IS NULL OR (%(found)s @> publication AND publication <> %(found)s)
"""
_CLEAR: Final[LiteralString] = """
UPDATE app.capture SET publication = NULL, changed_at = clock_timestamp()
WHERE publication IS NOT NULL
"""
_PAUSE: Final[LiteralString] = """
UPDATE app.capture SET paused_by = %(by)s, changed_at = clock_timestamp()
WHERE paused_by <> %(by)s
"""


@dataclass(frozen=True, slots=True)
class Damage:
    """A state of Postgres in which changes are permanently missing from the source log.

    `part` is publication, replica identity or slot. `found` describes its state.
    """

    part: str
    found: str


@dataclass(frozen=True, slots=True)
class Slot:
    """The replication slot. `behind` counts the WAL bytes that the connector has not confirmed."""

    active: bool
    wal_status: str
    behind: int


def slot_of(connection: Connection) -> Slot | None:
    """Return the slot of this database, or None if it does not exist."""
    row = connection.execute(_SLOT, (SLOT,)).fetchone()
    return Slot(*row) if row else None


def publication_problem(connection: Connection) -> str:
    """Return the first difference between the publication and its definition, "" if equal."""
    row = connection.execute(_PUBLICATION, (PUBLICATION,)).fetchone()
    if row is None:
        return "does not exist"
    rows = connection.execute(_TABLES, (PUBLICATION,)).fetchall()
    missing = sorted({*CAPTURED, *REFERENCE_TABLES} - {name for name, _, _ in rows})
    if missing:
        return f"lacks {', '.join(missing)}"
    if not row[1]:
        return "does not publish every insert, update, delete and truncate"
    parts = sorted(name for name, _, is_whole in rows if not is_whole)
    return f"leaves out rows or columns of {', '.join(parts)}" if parts else ""


def identity_problem(connection: Connection) -> str:
    """Return a text with the tables whose replica identity is not FULL, "" if all are FULL.

    Updates and deletes of such tables arrive without the complete before-image. The table of
    heartbeats is not checked. Its rows are never deleted and their updates change no stock, so no
    reader needs their before-image.
    """
    tables = [table for table in (*CAPTURED, *REFERENCE_TABLES) if table != "pipeline_heartbeat"]
    wrong = [str(name) for (name,) in connection.execute(_IDENTITY, (tables,)).fetchall()]
    return f"not FULL: {', '.join(wrong)}" if wrong else ""


def damage_of(connection: Connection) -> Damage | None:
    """Return the first damage to publication, replica identity or slot, or None.

    A missing slot is damage only after the connector has streamed for the first time. Before that,
    the slot is missing because Debezium has not created it yet.
    """
    problem = publication_problem(connection)
    if problem:
        return Damage("publication", problem)
    recorded = _recorded(connection)
    found = _identity(connection) if recorded else {}
    changed = sorted(name for name, of in (recorded or {}).items() if found.get(name) != of)
    if changed:
        tables = "" if PUBLICATION in changed else f": {', '.join(changed)}"
        return Damage("publication", f"was changed or created again{tables}")
    identity = identity_problem(connection)
    if identity:
        return Damage("replica identity", identity)
    if recorded is None:
        return None
    slot = slot_of(connection)
    if slot is None:
        return Damage("slot", "does not exist")
    return Damage("slot", "has lost its WAL") if slot.wal_status == "lost" else None


def store_publication(connection: Connection) -> None:
    """Store the object ids of the present publication, so that `damage_of` detects a change.

    Do nothing if a stored id is no longer an id of the publication. Only `clear_publication`
    deletes stored ids.
    """
    connection.execute(_RECORD, {"found": Jsonb(_identity(connection))})


def clear_publication(connection: Connection) -> None:
    """Delete the stored ids of the publication, and also a person's request for a pause.

    Call this before a new source log begins.
    """
    connection.execute(_CLEAR)
    connection.execute(_PAUSE, {"by": ""})


def paused_by(connection: Connection) -> str:
    """Return the name of the person who paused the capture, or an empty text."""
    [(by,)] = connection.execute("SELECT paused_by FROM app.capture").fetchall()
    return str(by)


def request_pause(connection: Connection, by: str) -> None:
    """Request that process `capture` pauses the connector for person `by`. "" asks for a resume."""
    connection.execute(_PAUSE, {"by": by})


def create_publication(connection: Connection) -> bool:
    """Create the publication as defined. Return False if it exists in that form already.

    Each table's replica identity is set to FULL. Call this as the Postgres role that owns the
    tables. Call it only before a complete new capture, because the new publication doesn't apply to
    changes that were committed earlier.
    """
    for table in TABLES:
        statement = sql.SQL("ALTER TABLE {} REPLICA IDENTITY FULL")
        connection.execute(statement.format(sql.Identifier("retail", table)))
    if not publication_problem(connection):
        return False
    name = sql.Identifier(PUBLICATION)
    with connection.transaction():
        connection.execute(sql.SQL("DROP PUBLICATION IF EXISTS {}").format(name))
        tables = sql.SQL(", ").join(sql.Identifier("retail", table) for table in TABLES)
        connection.execute(sql.SQL("CREATE PUBLICATION {} FOR TABLE {}").format(name, tables))
    return True


def _recorded(connection: Connection) -> Mapping[str, str] | None:
    rows: Sequence[tuple[Any, ...]] = connection.execute(
        "SELECT publication FROM app.capture"
    ).fetchall()
    return rows[0][0] if rows else None


def _identity(connection: Connection) -> dict[str, str]:
    """Return `oid.xmin` by name, for the publication and for its entry of each published table.

    Each ALTER, and each CREATE after a DROP, changes one of these values.
    """
    rows = connection.execute(_PUBLICATION, (PUBLICATION,)).fetchall()
    tables = connection.execute(_TABLES, (PUBLICATION,)).fetchall()
    entries = [(PUBLICATION, row[0]) for row in rows] + [(row[0], row[1]) for row in tables]
    return {str(name): str(identity) for name, identity in entries}
