"""Totals of the work that waits, with one query for each kind of work.

All queries read only the person's stores.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from ledger.kernel.proposal_rows import DECIDABLE_SQL
from ledger.kernel.rows import select, select_one
from webui.desks.home.waiting import COUNTED_TO
from webui.desks.orders.lines import OPEN_UNITS_SQL


@dataclass(frozen=True, slots=True)
class Total:
    """Waiting work of one kind: numbers of items and of urgent ones, money, time of the oldest.

    `money_minor` is in minor units; None if the work has no cost, or if a cost is unknown.
    """

    items: int
    urgent: int
    money_minor: int | None
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class DueTotal:
    """Due deliveries: their number, the number of overdue ones, units, and earliest due day."""

    items: int
    urgent: int
    units: int
    due_on: date | None


@dataclass(frozen=True, slots=True)
class TaskTotal:
    """The number of open tasks of one kind and role, and the time of the oldest task."""

    kind: str
    role: str
    items: int
    oldest: datetime


_AT: Final = "(%(location)s = '' OR {0} = %(location)s)"
# Open needs on which a person may decide. A need is urgent if nothing of its item is left to sell.
NEEDS: Final = f"""
SELECT count(*)::int AS items, count(*) FILTER (WHERE few.is_out)::int AS urgent,
       CASE WHEN bool_and(few.cost_minor > 0) THEN
           sum(few.quantity_units * few.cost_minor)::bigint END AS money_minor,
       min(few.opened_at) AS oldest
FROM (SELECT r.quantity_units, r.cost_minor, r.opened_at,
             coalesce(s.available_to_sell_units, 1) <= 0 AS is_out
      FROM app.reorder_proposal r LEFT JOIN read_model.stock s ON s.inv_key = r.inv_key
      WHERE {DECIDABLE_SQL} AND {_AT.format("r.location")}
      LIMIT {COUNTED_TO}) few
"""  # noqa: S608 -- constants of this module
DRAFTS: Final = f"""
SELECT count(DISTINCT l.order_ref)::int AS items, 0 AS urgent,
       CASE WHEN bool_and(coalesce(l.cost_minor, 0) > 0) THEN
           sum(l.ordered_units * l.cost_minor)::bigint END AS money_minor,
       min(l.recorded_at) AS oldest
FROM retail.purchase_order_line l
WHERE l.status = 'draft' AND {_AT.format("l.location")}
"""  # noqa: S608 -- constants of this module
# Proposals for one item are urgent if there are several, because only one can be approved.
PRICES: Final = f"""
SELECT count(*)::int AS items, count(*) FILTER (WHERE few.same > 1)::int AS urgent,
       NULL::bigint AS money_minor, min(few.opened_at) AS oldest
FROM (SELECT r.opened_at, count(*) OVER (PARTITION BY r.inv_key) AS same
      FROM app.price_proposal r
      WHERE {DECIDABLE_SQL} AND {_AT.format("r.location")}
      LIMIT {COUNTED_TO}) few
"""  # noqa: S608 -- constants of this module
COUNTS: Final = f"""
SELECT count(*)::int AS items, 0 AS urgent, NULL::bigint AS money_minor,
       min(few.recorded_at) AS oldest
FROM (SELECT c.recorded_at FROM retail.stock_count c
      WHERE c.status = 'draft' AND {_AT.format("c.location")} LIMIT {COUNTED_TO}) few
"""  # noqa: S608 -- constants of this module
ADJUSTMENTS: Final = f"""
SELECT count(*)::int AS items, 0 AS urgent,
       CASE WHEN bool_and(few.value_minor IS NOT NULL) THEN
           sum(few.value_minor)::bigint END AS money_minor,
       min(few.requested_at) AS oldest
FROM (SELECT r.value_minor, r.requested_at FROM app.adjustment_request r
      WHERE r.status = 'waiting' AND {_AT.format("r.location")} LIMIT {COUNTED_TO}) few
"""  # noqa: S608 -- constants of this module
# Transfers on their way to the person's stores. A transfer is urgent if it was due before today.
ARRIVING: Final = f"""
SELECT count(*)::int AS items,
       count(*) FILTER (WHERE few.due_on < (clock_timestamp() AT TIME ZONE 'UTC')::date)::int
           AS urgent,
       NULL::bigint AS money_minor, min(few.shipped_at) AS oldest
FROM (SELECT a.due_on, a.shipped_at FROM retail.shipment_line a
      WHERE a.leg = 'transfer_in' AND a.status = 'shipped' AND {_AT.format("a.location")}
      LIMIT {COUNTED_TO}) few
"""  # noqa: S608 -- constants of this module
TO_SHIP: Final = f"""
SELECT count(*)::int AS items, 0 AS urgent, NULL::bigint AS money_minor,
       min(few.recorded_at) AS oldest
FROM (SELECT l.recorded_at FROM retail.shipment_line l
      WHERE l.leg = 'transfer_out' AND l.status = 'planned' AND {_AT.format("l.location")}
      LIMIT {COUNTED_TO}) few
"""  # noqa: S608 -- constants of this module
_DUE: Final = f"""
SELECT count(*)::int AS items, count(*) FILTER (WHERE few.is_overdue)::int AS urgent,
       coalesce(sum(few.units), 0)::bigint AS units, min(few.due_on) AS due_on
FROM (SELECT sum({OPEN_UNITS_SQL})::bigint AS units, min(l.due_on) AS due_on,
             min(l.due_on) < (clock_timestamp() AT TIME ZONE 'UTC')::date AS is_overdue
      FROM retail.purchase_order_line l
      LEFT JOIN LATERAL (
          SELECT sum(order_units)::bigint AS order_units FROM retail.shipment_line
          WHERE purchase_order_line_id = l.id AND leg = 'supplier_in') sh ON true
      WHERE l.status IN ('sent', 'confirmed') AND {OPEN_UNITS_SQL} > 0
        AND l.due_on <= (clock_timestamp() AT TIME ZONE 'UTC')::date
        AND {_AT.format("l.location")}
      GROUP BY l.order_ref, l.location LIMIT {COUNTED_TO}) few
"""  # noqa: S608 -- constants of this module
_TASKS: Final = f"""
SELECT each.kind, each.role, few.items, few.oldest
FROM (SELECT DISTINCT t.role, t.kind FROM app.task t
      WHERE t.cleared_at IS NULL AND t.opened_at IS NOT NULL AND t.role = ANY(%(roles)s)
        AND {_AT.format("t.location")}) each
CROSS JOIN LATERAL (
    SELECT count(*)::int AS items, min(mine.opened_at) AS oldest FROM (
        SELECT t.opened_at FROM app.task t
        WHERE t.cleared_at IS NULL AND t.opened_at IS NOT NULL AND t.role = each.role
          AND t.kind = each.kind AND {_AT.format("t.location")} LIMIT {COUNTED_TO}) mine) few
"""  # noqa: S608 -- constants of this module


def total(sql: str, location: str) -> Total:
    """Return the total of `sql`, a query of this module, at one location.

    An empty `location` means all locations that the person may see.
    """
    return select_one(sql, {"location": location}, Total) or Total(0, 0, None, None)


def due_deliveries(location: str) -> DueTotal:
    """Return the total of the orders whose delivery is due today or overdue."""
    return select_one(_DUE, {"location": location}, DueTotal) or DueTotal(0, 0, 0, None)


def tasks(roles: tuple[str, ...], location: str) -> list[TaskTotal]:
    """Return the totals of the open tasks of these roles, one for each role and kind."""
    return select(_TASKS, {"roles": list(roles), "location": location}, TaskTotal)
