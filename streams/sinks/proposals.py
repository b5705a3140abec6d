"""Proposals from decisions: the rows that people approve, reject or snooze.

A person's final decision is never overwritten. After `approve` or `reject` a proposal may still
close (the order came back through the log), but no event opens or amends it again.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import LiteralString

import orjson
from psycopg import sql

from cdc.contracts import tables
from cdc.contracts.decisions import (
    SIMULATED_PREFIX,
    DecisionContext,
    PriceEvent,
    ReorderEvent,
)
from cdc.contracts.rejects import position_json
from inventory.model.outputs import PriceOutput, ReorderOutput
from streams.sinks.positions import Connection
from streams.sinks.upsert import Row, Table, upsert

# The first lines ignore the stored revision in two cases. A decision of another logic revision
# wins, because only the deciding one gets here and revisions of two logics don't compare. A
# proposal that a switch closed may reopen at its old revision after the switch back. The last lines
# protect a final decision.
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
    # Closing events carry no quantity and no flags; pages still show the requested quantity.
    kept_if_null=("quantity_units",),
)
PRICES = Table(
    name=tables.PRICE_PROPOSAL,
    key=("proposal_id",),
    columns=tables.PRICE_PROPOSAL_COLUMNS,
    newer=_NEWER,
    set_on_update=", updated_at = clock_timestamp()",
)

# A need is named by the offset that opened it. The later id of a key is therefore the newer need,
# in any order of arrival. Only the newest may be shown as open. Another logic may have opened its
# needs earlier or later: the switch to this revision closed those rows.
_SUPERSEDE: LiteralString = """
UPDATE app.{table} AS older
SET {closed}, updated_at = clock_timestamp()
FROM app.{table} AS newer
WHERE older.inv_key = ANY(%s) AND newer.inv_key = older.inv_key
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
# No approval may commit between the check for approvals and the switch.
_HOLD_APPROVALS: LiteralString = "LOCK TABLE app.reorder_proposal IN SHARE ROW EXCLUSIVE MODE"
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
    """The rules can't be switched yet: an approved order is not in the log."""


def propose(
    connection: Connection, reorders: Iterable[ReorderEvent], prices: Iterable[PriceEvent]
) -> None:
    """Upsert proposals from events, higher revisions only. A key's new id supersedes its older one.

    The events may repeat known revisions and may skip some. The caller removes simulated ids.
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
    """Return the key of each approved need that is still open, and the time in microseconds.

    Approvals before that time have committed, so a record with a later commit time follows their
    orders in the log. Call this in a transaction of its own: it waits for running approvals.
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
    """Make exactly these decisions the open ones: all other open proposals are closed.

    Called when another logic revision starts to decide, with all its open decisions. `ordered` are
    approved needs whose orders these rules know: they become accepted.

    Raises:
        ApprovalInFlight: a need with another id was approved, and the order has not come back
            through the log. The other rules don't know of it yet and could order it again.
    """
    ids = [event.output.id for event in reorders]
    known = {*ids, *ordered}
    waiting = [need for need in approved(connection)[0] if need not in known]
    if waiting:
        problem = f"{waiting[0]} was approved and its order is on its way: try again in a moment"
        raise ApprovalInFlight(problem)
    connection.execute(_CLOSE_REORDERS, (ids,))
    connection.execute(_CLOSE_PRICES, ([event.output.id for event in prices],))
    propose(connection, reorders, prices)


def is_newer(event: ReorderEvent | PriceEvent, known: ReorderEvent | PriceEvent) -> bool:
    """Return True if `event` is a later revision of the same decision."""
    return event.output.revision > known.output.revision


def is_simulated(event: ReorderEvent | PriceEvent) -> bool:
    """Return True if a simulation made the decision. People must never see it."""
    return event.output.id.startswith(SIMULATED_PREFIX)


def reorder_row(event: ReorderEvent) -> Row:
    """Return the event as a row of `app.reorder_proposal`."""
    output = event.output
    return _common(output, event.at) | {
        "reorder_id": output.id,
        "supplier": event.supplier,
        "cost_minor": event.cost_minor,
        "quantity_units": output.quantity_units,
        "base_position_units": output.base_position_units,
        "reorder_point_units": output.reorder_point_units,
        "order_up_to_units": output.order_up_to_units,
        "flags": array_literal(output.flags),
    }


def price_row(event: PriceEvent) -> Row:
    """Return the event as a row of `app.price_proposal`."""
    output = event.output
    return _common(output, event.at) | {
        "proposal_id": output.id,
        "old_minor": output.old_minor,
        "new_minor": output.new_minor,
        "regular_minor": output.regular_minor,
        "floor_minor": output.floor_minor,
        "step": output.step,
        "signal": output.signal,
        "clamps": array_literal(output.clamps),
        "effective_at_us": output.effective_at_us,
        "prior_minor": output.prior_minor,
    }


def _common(output: ReorderOutput | PriceOutput, at: DecisionContext) -> dict[str, object]:
    return {
        "inv_key": at.inv_key,
        "location": at.location,
        "sku": at.sku,
        "revision": output.revision,
        "status": output.status,
        "reason": output.reason,
        "terms": orjson.dumps(output.terms).decode(),
        "logic_revision": at.logic_revision,
        "position": orjson.dumps(position_json(at.origin)).decode(),
        "as_of_us": at.as_of_us,
    }


def array_literal(words: Iterable[str]) -> str:
    """Return Postgres' text form of an array of texts."""
    quoted = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    return "{" + ",".join(f'"{word}"' for word in quoted) + "}"
