"""The deciding logic revision, whose decisions become proposals (decision 0013).

It is the revision in the newest row of `app.revision_switch`.
"""

from typing import Any, Final, LiteralString

import psycopg

from inventory.revision import LOGIC_REVISION

# One row with three columns: revision, former revision, rollback mark. The former revision is null
# for the first switch. The mark is the text `true` for a rollback, else null.
NEWEST_SWITCH: Final[LiteralString] = (
    "SELECT revision, former, comparison ->> 'rollback' "
    "FROM app.revision_switch ORDER BY id DESC LIMIT 1"
)


def recorded_revision(connection: psycopg.Connection[Any]) -> int | None:
    """Return the logic revision whose decisions become proposals.

    Return None before the first start of an actuator, the process that writes proposals.
    """
    row = connection.execute(NEWEST_SWITCH).fetchone()
    return None if row is None else int(row[0])


def former_revision(connection: psycopg.Connection[Any]) -> int | None:
    """Return the logic revision that decided before the newest switch, for a rollback to it.

    Return None if there was no switch, or if the newest switch was a rollback itself.
    """
    row = connection.execute(NEWEST_SWITCH).fetchone()
    if row is None or not is_reversible(row[1], is_rollback=row[2] is not None):
        return None
    return int(row[1])


def is_reversible(former: int | None, *, is_rollback: bool) -> bool:
    """Return True if a switch to another logic revision can be rolled back.

    `former` is the revision before the switch, None for the first one. The first switch and a
    rollback can't be rolled back.
    """
    return former is not None and not is_rollback


def deciding_revision(connection: psycopg.Connection[Any]) -> int:
    """Return the deciding revision. Until a revision is recorded, this code's revision decides."""
    found = recorded_revision(connection)
    return LOGIC_REVISION if found is None else found
