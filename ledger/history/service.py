"""Bulk imports of past facts, with one statement per table and day.

A retailer who starts to use the system has weeks of receipts, transfers and counts. One transaction
for each row would be slow, so a statement takes all rows of a day as arrays.

An importer divides a history into named parts. In the transaction that writes a part, it calls
`keep_past` with the part's name. A second run skips each part for which `is_past_written` returns
True.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from ledger.kernel import checks
from ledger.kernel.transactions import execute, fetch_value, ledger_transaction, log_action


class PastOrder(NamedTuple):
    """A confirmed or closed order line. Its `order_ref` is unique: receipts find the line by it."""

    location: str
    sku: str
    supplier: str
    order_ref: str
    ordered_units: int
    confirmed_units: int
    ordered_at: datetime
    due_on: datetime
    is_closed: bool = False  # all units are received or cancelled within the history


class PastReceipt(NamedTuple):
    """A receipt of the order line with this `order_ref`.

    `order_units` are the units by which the receipt lowers on-order. `reason` explains a difference
    from the expected units, None without a difference.
    """

    location: str
    sku: str
    order_ref: str
    received_units: int
    damaged_units: int
    order_units: int
    received_at: datetime
    reason: str | None


class ShortLine(NamedTuple):
    """An order line to close, and its units that will never arrive."""

    order_ref: str
    cancelled_units: int


class PastTransfer(NamedTuple):
    """A shipped transfer; `received_at` None means that the units are still in transit."""

    transfer_ref: str
    source: str
    destination: str
    sku: str
    units: int
    received_units: int
    shipped_at: datetime
    received_at: datetime | None
    reason: str | None


class PastCount(NamedTuple):
    """An approved cycle count."""

    location: str
    sku: str
    units: int
    counted_at: datetime


class PastAdjustment(NamedTuple):
    """A booked correction."""

    location: str
    sku: str
    reason: str
    quantity_units: int
    adjusted_at: datetime


class PastPrice(NamedTuple):
    """A price that a person set, and the item's floor at that time; both in minor units."""

    location: str
    sku: str
    price_minor: int
    floor_minor: int
    effective_from: datetime


_KEY = "inv_key, location, sku"
_KEYS = "location || '|' || sku, location, sku"

_ORDERS = f"""
INSERT INTO retail.purchase_order_line ({_KEY}, supplier, order_ref, status, ordered_units,
    confirmed_units, ordered_at, due_on, recorded_by, cost_minor)
SELECT {_KEYS}, supplier, order_ref, CASE WHEN is_closed THEN 'closed' ELSE 'confirmed' END,
    ordered, confirmed, ordered_at, due::date, %s,
    -- The cost that an approval would write. A subselect, because a join may reorder the rows.
    (SELECT nullif(item.cost_minor, 0) FROM retail.item_location AS item
     WHERE item.inv_key = line.location || '|' || line.sku)
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
    %s::timestamptz[], %s::timestamptz[], %s::boolean[])
    AS line (location, sku, supplier, order_ref, ordered, confirmed, ordered_at, due, is_closed)
"""  # noqa: S608 -- literals of this module
_RECEIPTS = f"""
INSERT INTO retail.shipment_line ({_KEY}, leg, status, purchase_order_line_id, shipped_units,
    received_units, damaged_units, order_units, received_at, discrepancy_reason, recorded_by)
SELECT goods.location || '|' || goods.sku, goods.location, goods.sku, 'supplier_in', 'received',
    line.id, received + damaged, received, damaged, order_units, received_at, reason, %s
FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[],
    %s::timestamptz[], %s::text[]) WITH ORDINALITY
    AS goods (location, sku, order_ref, received, damaged, order_units, received_at, reason, place)
JOIN retail.purchase_order_line AS line
    ON line.inv_key = goods.location || '|' || goods.sku AND line.order_ref = goods.order_ref
ORDER BY place
"""  # noqa: S608 -- literals of this module
_SHORT = """
UPDATE retail.purchase_order_line AS line
SET status = 'closed', cancelled_units = short.units, recorded_by = %s
FROM unnest(%s::text[], %s::bigint[]) AS short (order_ref, units)
WHERE line.order_ref = short.order_ref
"""
_TRANSFERS = f"""
INSERT INTO retail.shipment_line ({_KEY}, leg, status, transfer_ref, planned_units, shipped_units,
    shipped_at, received_units, received_at, discrepancy_reason, recorded_by)
SELECT location || '|' || sku, location, sku, leg,
    CASE WHEN leg = 'transfer_in' AND received_at IS NOT NULL THEN 'received' ELSE 'shipped' END,
    ref, units, units, shipped_at,
    CASE WHEN leg = 'transfer_in' THEN received ELSE 0 END,
    CASE WHEN leg = 'transfer_in' THEN received_at END,
    CASE WHEN leg = 'transfer_in' THEN reason END, %s
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[],
    %s::timestamptz[], %s::timestamptz[], %s::text[]) WITH ORDINALITY
    AS goods (ref, source, destination, sku, units, received, shipped_at, received_at, reason,
              place)
CROSS JOIN LATERAL (VALUES ('transfer_out', source), ('transfer_in', destination))
    AS side (leg, location)
ORDER BY place, leg DESC
"""  # noqa: S608 -- literals of this module
_COUNTS = f"""
INSERT INTO retail.stock_count ({_KEY}, units, kind, status, occurred_at, recorded_by)
SELECT {_KEYS}, units, 'cycle', 'approved', at, %s
FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::timestamptz[])
    AS counted (location, sku, units, at)
"""  # noqa: S608 -- literals of this module
_ADJUSTMENTS = f"""
INSERT INTO retail.stock_adjustment ({_KEY}, reason, quantity_units, occurred_at, recorded_by)
SELECT {_KEYS}, reason, units, at, %s
FROM unnest(%s::text[], %s::text[], %s::text[], %s::bigint[], %s::timestamptz[])
    AS booked (location, sku, reason, units, at)
"""  # noqa: S608 -- literals of this module
_PRICES = f"""
INSERT INTO retail.price_change ({_KEY}, price_minor, floor_minor, effective_from, kind,
    recorded_by)
SELECT {_KEYS}, price, floor, at, 'manual', %s
FROM unnest(%s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::timestamptz[])
    AS priced (location, sku, price, floor, at)
"""  # noqa: S608 -- literals of this module


def is_past_written(*, name: str) -> bool:
    """Return True if `keep_past` has recorded that the part `name` of a history is written."""
    found: bool = fetch_value(
        "SELECT EXISTS (SELECT FROM app.action_log WHERE action = 'history' AND subject = %s)",
        name,
    )
    return found


def keep_past(*, name: str, rows: int, actor: str | None = None) -> None:
    """Record in the audit log, in the caller's transaction, that the part `name` is written."""
    log_action(actor=actor, action="history", subject=name, detail={"rows": rows})


def record_past_orders(*, rows: Sequence[PastOrder], actor: str | None = None) -> int:
    """Write confirmed or closed order lines, in the order of `rows`; return the number written."""
    for row in rows:
        checks.key(row.location, row.sku)
        checks.integer("ordered_units", row.ordered_units)
        checks.integer("confirmed_units", row.confirmed_units)
    return _write(_ORDERS, rows, actor)


def record_past_receipts(*, rows: Sequence[PastReceipt], actor: str | None = None) -> int:
    """Write receipts; return their number. A row without an order line is skipped."""
    for row in rows:
        checks.integer("received_units", row.received_units)
        checks.integer("damaged_units", row.damaged_units)
    return _write(_RECEIPTS, rows, actor)


def close_past_lines(*, rows: Sequence[ShortLine], actor: str | None = None) -> int:
    """Close order lines and cancel their missing units; return the number of lines."""
    return _write(_SHORT, rows, actor)


def record_past_transfers(*, rows: Sequence[PastTransfer], actor: str | None = None) -> int:
    """Write two rows per transfer, for its source and destination; return the number of rows."""
    for row in rows:
        checks.key(row.destination, row.sku)
        checks.integer("units", row.units, 1)
    return _write(_TRANSFERS, rows, actor)


def record_past_counts(*, rows: Sequence[PastCount], actor: str | None = None) -> int:
    """Write approved cycle counts; return the number written."""
    for row in rows:
        checks.integer("units", row.units)
    return _write(_COUNTS, rows, actor)


def record_past_adjustments(*, rows: Sequence[PastAdjustment], actor: str | None = None) -> int:
    """Write booked adjustments; return the number written."""
    for row in rows:
        checks.integer("quantity_units", row.quantity_units, 1)
    return _write(_ADJUSTMENTS, rows, actor)


def record_past_prices(*, rows: Sequence[PastPrice], actor: str | None = None) -> int:
    """Write manual prices; return the number written.

    Raise `ServiceError`, and write none, if a price is below its floor.
    """
    return _write(_PRICES, rows, actor)


def _write(statement: str, rows: Sequence[tuple[object, ...]], actor: str | None) -> int:
    if not rows:
        return 0
    with ledger_transaction():
        return execute(statement, actor, *(list(column) for column in zip(*rows, strict=True)))
