"""The writes of the workers' decisions as proposals, which people approve, reject or snooze.

A person's final decision is never overwritten. After `approve` or `reject`, an event may only close
the proposal, for example when workers have read the order from the log. No event opens, amends or
snoozes it.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import LiteralString

from psycopg import sql

from cdc.contracts import tables
from cdc.contracts.decisions import (
    SIMULATED_PREFIX,
    PriceEvent,
    ReorderEvent,
)
from streams.sinks.positions import Connection
from streams.sinks.proposal_rows import price_row, reorder_row
from streams.sinks.upsert import Table, upsert

# An event replaces the stored row if the event's revision is higher, and in two other cases:
# - The event is of another logic revision than the row. Only events of the deciding logic revision
#   are read. The revision numbers of decisions can't be compared between logic revisions.
# - A switch closed the row. After a switch back, the decision's old revision may open it again.
# The last two lines of the condition protect a person's final decision.
_NEWER = (
    "(excluded.revision > kept.revision OR excluded.logic_revision <> kept.logic_revision"
    " OR kept.reason = 'logic_revision') AND"
    " (kept.decided_action IS NULL OR kept.decided_action NOT IN ('approve', 'reject')"
    " OR excluded.status NOT IN ('open', 'snoozed'))"
)
REORDERS = Table(
    name=tables.REORDER_PROPOSAL,
    key=("reorder_id",),
    columns=tables.REORDER_PROPOSAL_COLUMNS,
    newer=_NEWER,
    set_on_update=", updated_at = clock_timestamp()",
    # Closing events have no quantity. The stored quantity is kept, because pages show it.
    kept_if_null=("quantity_units",),
)
PRICES = Table(
    name=tables.PRICE_PROPOSAL,
    key=("proposal_id",),
    columns=tables.PRICE_PROPOSAL_COLUMNS,
    newer=_NEWER,
    set_on_update=", updated_at = clock_timestamp()",
)

# A proposal's id ends with generation and offset of the record that opened it. So of two ids of a
# key, the higher one is newer, in any order of arrival. Only the newest proposal of a key may be
# open. Rows of other logic revisions are left out: the switch to this revision has closed them, and
# their ids can't be compared.
_SUPERSEDE: LiteralString = """
UPDATE app.{table} AS older
SET {closed}, updated_at = clock_timestamp()
FROM app.{table} AS newer
WHERE older.inv_key = ANY(%s) AND newer.inv_key = older.inv_key AND newer.{key} <> older.{key}
  AND older.status IN ('open', 'snoozed') AND newer.logic_revision = older.logic_revision
  AND (substring(older.{key} from '(\\d+)-\\d+$')::bigint,
       substring(older.{key} from '\\d+-(\\d+)$')::bigint)
    < (substring(newer.{key} from '(\\d+)-\\d+$')::bigint,
       substring(newer.{key} from '\\d+-(\\d+)$')::bigint)
"""
_SUPERSEDE_REORDERS = sql.SQL(_SUPERSEDE).format(
    table=sql.Identifier("reorder_proposal"),
    key=sql.Identifier("reorder_id"),
    closed=sql.SQL("status = 'superseded'"),
)
_SUPERSEDE_PRICES = sql.SQL(_SUPERSEDE).format(
    table=sql.Identifier("price_proposal"),
    key=sql.Identifier("proposal_id"),
    closed=sql.SQL("status = 'cancelled', reason = 'superseded'"),
)
# The lock waits for running approvals and blocks new ones until the caller's transaction ends.
# An approval first locks its row by SELECT FOR UPDATE, and then updates it. The lock must exclude
# the first step, too. Otherwise the caller could wait for the row, and the approval for the table:
# a deadlock.
_HOLD_APPROVALS: LiteralString = "LOCK TABLE app.reorder_proposal IN EXCLUSIVE MODE"
_APPROVED: LiteralString = """
SELECT reorder_id, inv_key FROM app.reorder_proposal
WHERE status IN ('open', 'snoozed') AND decided_action = 'approve' ORDER BY reorder_id
"""
_NOW: LiteralString = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
_CLOSE_REORDERS: LiteralString = """
UPDATE app.reorder_proposal
SET status = CASE decided_action WHEN 'approve' THEN 'accepted' ELSE 'superseded' END,
    reason = CASE decided_action WHEN 'approve' THEN NULL ELSE 'logic_revision' END,
    updated_at = clock_timestamp()
WHERE status IN ('open', 'snoozed') AND NOT reorder_id = ANY(%s)
"""
_CLOSE_PRICES: LiteralString = """
UPDATE app.price_proposal
SET status = 'cancelled', reason = 'logic_revision', updated_at = clock_timestamp()
WHERE status IN ('open', 'snoozed') AND NOT proposal_id = ANY(%s)
"""


class ApprovalInFlight(Exception):
    """The deciding revision can't be switched yet: an approved order is not in the log."""


def propose(
    connection: Connection, reorders: Iterable[ReorderEvent], prices: Iterable[PriceEvent]
) -> None:
    """Write the events as proposals. A key's newer proposal closes the key's older open proposals.

    An event is ignored if its revision is not higher than the stored revision; see `_NEWER` for
    exceptions. The caller has removed simulated events.
    """
    needs: dict[str, ReorderEvent] = {}
    for need in reorders:
        if need.output.id not in needs or is_newer(need, needs[need.output.id]):
            needs[need.output.id] = need
    offers: dict[str, PriceEvent] = {}
    for offer in prices:
        if offer.output.id not in offers or is_newer(offer, offers[offer.output.id]):
            offers[offer.output.id] = offer
    upsert(connection, REORDERS, [reorder_row(event) for event in needs.values()])
    upsert(connection, PRICES, [price_row(event) for event in offers.values()])
    if needs:
        keys = sorted({event.at.inv_key for event in needs.values()})
        connection.execute(_SUPERSEDE_REORDERS, (keys,))
    if offers:
        keys = sorted({event.at.inv_key for event in offers.values()})
        connection.execute(_SUPERSEDE_PRICES, (keys,))


def approved(connection: Connection) -> tuple[dict[str, str], int]:
    """Return the approved needs that are still open (id → key), and the present time in µs.

    The time is by Postgres' clock. All approvals before that time have committed. So in the log,
    their orders come before every record with a later commit time. The call waits for running
    approvals and blocks new ones until the caller's transaction ends.
    """
    connection.execute(_HOLD_APPROVALS)
    rows = connection.execute(_APPROVED).fetchall()
    [(now_us,)] = connection.execute(_NOW).fetchall()
    return {str(need): str(key) for need, key in rows}, int(str(now_us))


def propose_only(
    connection: Connection,
    reorders: Sequence[ReorderEvent],
    prices: Sequence[PriceEvent],
    ordered: Collection[str] = (),
) -> None:
    """Write these decisions as the only open proposals, and close all other open proposals.

    Call this with all open decisions of a logic revision that starts to decide. `ordered` are the
    ids of approved needs whose orders that revision's workers have read. The proposals of these
    needs become accepted.

    Raises:
        ApprovalInFlight: another need was approved, and the new revision has not read its order
            from the log yet. The new revision could propose the order again.
    """
    ids = [event.output.id for event in reorders]
    known = {*ids, *ordered}
    waiting = [need for need in approved(connection)[0] if need not in known]
    if waiting:
        problem = (
            f"{waiting[0]} was approved, and the new revision has not read its order yet: "
            "nothing was switched, try again in a minute"
        )
        raise ApprovalInFlight(problem)
    connection.execute(_CLOSE_REORDERS, (ids,))
    connection.execute(_CLOSE_PRICES, ([event.output.id for event in prices],))
    propose(connection, reorders, prices)


def is_newer(event: ReorderEvent | PriceEvent, known: ReorderEvent | PriceEvent) -> bool:
    """Return True if `event` is a later revision of the decision than `known`."""
    return event.output.revision > known.output.revision


def is_simulated(event: ReorderEvent | PriceEvent) -> bool:
    """Return True if a simulation made the decision. People must never see it."""
    return event.output.id.startswith(SIMULATED_PREFIX)
