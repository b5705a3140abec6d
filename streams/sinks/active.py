"""The switch of the deciding logic revision, and the lock that delays it.

Workers of several revisions may run side by side. Each revision has its own topics. A transaction
that acts on decisions takes a shared lock on the deciding revision. A switch takes the exclusive
lock, so it waits for these transactions. Decisions of two revisions are therefore never mixed.
"""

from collections.abc import Mapping
from typing import Final, LiteralString

from psycopg.types.json import Jsonb

from cdc.deciding import recorded_revision
from inventory.model.value import value
from streams.sinks.positions import Connection

_NAME: Final = "'logic-revision'"
_SHARED: LiteralString = f"SELECT pg_advisory_xact_lock_shared(hashtextextended({_NAME}, 0))"
_EXCLUSIVE: LiteralString = f"SELECT pg_advisory_xact_lock(hashtextextended({_NAME}, 0))"
_SWITCH: LiteralString = """
INSERT INTO app.revision_switch (revision, former, reached, comparison, switched_by)
VALUES (%s, %s, %s, %s, %s)
"""


class RevisionSwitched(Exception):
    """The deciding logic revision is not the one that the caller assumed."""


@value
class Switch:
    """One change of the deciding revision: a row of `app.revision_switch`.

    `by` is the person who switched. For the first switch, `former` is None and `by` is
    `first start`. `reached` maps each partition to the offset of `stock.events` that both revisions
    had passed. `comparison` has the counts of the comparison before the switch, and the approval of
    its differences.
    """

    revision: int
    former: int | None
    by: str
    reached: Mapping[int, int]
    comparison: Mapping[str, object]


def active_or_first(connection: Connection, own_revision: int) -> int:
    """Return the deciding revision. If none is recorded yet, record `own_revision` as the first."""
    found = recorded_revision(connection)
    if found is not None:
        return found
    with connection.transaction():
        connection.execute(_EXCLUSIVE)
        found = recorded_revision(connection)  # another process may have recorded one meanwhile
        if found is None:
            switch(connection, Switch(own_revision, None, "first start", {}, {}))
    return own_revision if found is None else found


def hold_active(connection: Connection, revision: int) -> None:
    """Prevent a switch of the deciding revision until the caller's transaction ends.

    Raises:
        RevisionSwitched: another revision decides.
    """
    connection.execute(_SHARED)
    found = recorded_revision(connection)
    if found != revision:
        problem = f"logic revision {found} decides now, not {revision}"
        raise RevisionSwitched(problem)


def switch(connection: Connection, change: Switch) -> None:
    """Record `change` in the caller's transaction. The new revision decides after the commit.

    The call waits for all transactions that have called `hold_active`.

    Raises:
        RevisionSwitched: another process has switched since `change.former` was read.
    """
    connection.execute(_EXCLUSIVE)
    found = recorded_revision(connection)
    if found != change.former:
        problem = (
            f"logic revision {found} decides now, not {change.former}: nothing was switched, "
            "compare again"
        )
        raise RevisionSwitched(problem)
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
