"""Switch of the deciding logic revision, in one Postgres transaction.

Before it, only the former revision's decisions reach a desk; after it, only the new one's. The
actuator continues in the new topics after the last decision that the transaction included.
"""

import time

import psycopg

from cdc.contracts.partition import partition_of
from cdc.deciding import recorded_revision
from cdc.settings import Connections
from deploy.errors import StackError
from deploy.revisions import progress
from deploy.revisions.compare import Comparison, compare
from deploy.revisions.decisions import Decisions
from streams.sinks.active import Switch, switch
from streams.sinks.actuator import Actuator
from streams.sinks.positions import Connection, move_positions
from streams.sinks.proposals import approved, propose_only


def active(settings: Connections) -> int | None:
    """Return the logic revision that decides; None before the first start."""
    with connect(settings) as connection:
        return recorded_revision(connection)


def connect(settings: Connections) -> Connection:
    """Return a connection with the rights of the sinks, in autocommit mode."""
    address = settings.sink_database_url.get_secret_value()
    return psycopg.connect(address, autocommit=True, connect_timeout=10)


def promote(
    settings: Connections, revision: int, *, accept: int | None, by: str, timeout_s: float
) -> Comparison | None:
    """Let `revision` decide if it differs from the former one in at most `accept` keys.

    With None for `accept` there is no comparison, which would need workers of both: for a stack
    that was restarted with other code. The new revision must have caught up in any case.

    Raises:
        StackError: it decides already, is behind, or differs in more keys.
        RevisionSwitched: another command has switched meanwhile.
        ApprovalInFlight: an order that was just approved is not in the log yet.
    """
    former = active(settings)
    if former is None or former == revision:
        message = f"logic revision {revision} can't take over from {former}"
        raise StackError(message, repair="inventory revision list")
    fresh, ordered = Decisions(settings, revision), frozenset[str]()
    if accept is None:
        found, reached = None, progress.ends(settings)
        progress.wait_past(settings, reached, revision, time.monotonic() + timeout_s)
        ordered = _orders_known_to(settings, revision, time.monotonic() + timeout_s)
    else:
        found = compare(settings, Decisions(settings, former), fresh, timeout_s)
        reached = dict(found.barrier)
        _refuse_more_than(accept, found)
    fresh.refresh(time.monotonic() + timeout_s)
    counts = {} if found is None else found.counts()
    with connect(settings) as connection, connection.transaction():
        switch(connection, Switch(revision, former, by, reached, counts))
        propose_only(connection, *fresh.pending(), ordered)
        move_positions(connection, Actuator.name, fresh.next_offsets())
    return found


def _orders_known_to(settings: Connections, revision: int, deadline: float) -> frozenset[str]:
    """Return the approved needs of the former revision whose orders `revision` has seen.

    Workers of the former revision would close them, but they may not run.
    """
    with connect(settings) as connection, connection.transaction():
        needs, asked_us = approved(connection)
    numbers = {partition_of(key.encode(), settings.partitions) for key in needs.values()}
    progress.wait_past_moment(settings, asked_us, numbers, revision, deadline)
    return frozenset(needs)


def _refuse_more_than(accept: int, found: Comparison) -> None:
    differing = len(found.differences)
    if differing > accept:
        message = (
            f"logic revision {found.fresh} differs from {found.former} in {differing} keys, "
            f"{accept} are accepted: check them, then pass their number with --accept"
        )
        raise StackError(message, repair=f"inventory revision compare {found.fresh}")
