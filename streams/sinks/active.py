"""Which logic revision decides: the newest row of `app.revision_switch`.

Workers of several revisions may run side by side, each writing topics of its own. Whoever acts on
decisions holds the answer to this question for the length of its transaction, and a switch waits
for those transactions: there is no moment in which two revisions reach a desk.
"""

from collections.abc import Mapping
from typing import Final, LiteralString

from psycopg.types.json import Jsonb

from inventory.model.value import value
from streams.sinks.positions import Connection

_NAME: Final = "'logic-revision'"
_SHARED: LiteralString = f"SELECT pg_advisory_xact_lock_shared(hashtextextended({_NAME}, 0))"
_ALONE: LiteralString = f"SELECT pg_advisory_xact_lock(hashtextextended({_NAME}, 0))"
_NEWEST: LiteralString = "SELECT revision FROM app.revision_switch ORDER BY id DESC LIMIT 1"
_SWITCH: LiteralString = """
INSERT INTO app.revision_switch (revision, former, reached, comparison, switched_by)
VALUES (%s, %s, %s, %s, %s)
"""


class RevisionMoved(Exception):
    """Another logic revision decides now; what was read belongs to the former one."""


@value
class Switch:
    """One change of the deciding revision, with what was known when it was made.

    `reached` is, per partition, the offset of `stock.events` that both revisions had passed.
    """

    revision: int
    former: int | None
    by: str
    reached: Mapping[int, int]
    comparison: Mapping[str, object]


def active_revision(connection: Connection) -> int | None:
    """The revision that decides; None before any worker's decisions were ever followed."""
    row = connection.execute(_NEWEST).fetchone()
    return None if row is None else int(str(row[0]))


def active_or_first(connection: Connection, mine: int) -> int:
    """The revision that decides; in a new installation it is `mine`, from now on."""
    found = active_revision(connection)
    if found is not None:
        return found
    first = Switch(mine, None, "first start", {}, {})
    with connection.transaction():
        switch(connection, first)
    return mine


def hold_active(connection: Connection, revision: int) -> None:
    """Keep `revision` the one that decides until the caller's transaction ends.

    Raises:
        RevisionMoved: it is not, any more.
    """
    connection.execute(_SHARED)
    found = active_revision(connection)
    if found != revision:
        problem = f"logic revision {found} decides now, not {revision}"
        raise RevisionMoved(problem)


def switch(connection: Connection, change: Switch) -> None:
    """Let another revision decide from the end of the caller's transaction on.

    Waits for transactions that hold the former one.

    Raises:
        RevisionMoved: somebody else has switched since `change.former` was read.
    """
    connection.execute(_ALONE)
    found = active_revision(connection)
    if found != change.former:
        problem = f"logic revision {found} decides now, not {change.former}: compare again"
        raise RevisionMoved(problem)
    connection.execute(
        _SWITCH,
        (
            change.revision,
            change.former,
            Jsonb({str(number): offset for number, offset in change.reached.items()}),
            Jsonb(dict(change.comparison)),
            change.by,
        ),
    )
