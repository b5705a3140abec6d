"""The planned history of the demo's retailer as an archived log, without Postgres.

The policies are of the family `sS` with typed levels. The history reorders by these levels, too.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import Any

from bench.retailer.history import plan_history
from bench.retailer.history_values import History
from bench.retailer.retailer import SIZES, PlannedKey, plan, policy
from ledger.services import (
    PastAdjustment,
    PastCount,
    PastOrder,
    PastReceipt,
    PastTransfer,
    RecordSale,
)
from tests.analytics.histories import Generated, _iso, _micros

MIDNIGHT = datetime(2026, 6, 1, tzinfo=UTC)
Row = dict[str, Any]
# Time, order among equal times, table, key, before-image, after-image.
Written = tuple[datetime, int, str, str, Row | None, Row]


def retailer_log(seed: int, size: str) -> Generated:
    """Return ninety days of a chain, each record committed when its fact happened."""
    _, keys = plan(seed, SIZES[size])
    history = plan_history(seed, MIDNIGHT, keys)
    begin = min(history.days)
    log = Generated()
    rows = [*_openings(keys, history, begin), *_facts(history)]
    for lsn, (at, _, table, key, before, after) in enumerate(sorted(rows, key=lambda r: r[:2])):
        location, sku = key.split("|")
        common = {"inv_key": key, "location": location, "sku": sku, "recorded_at": _iso(at)}
        source = {"table": table, "lsn": lsn + 1, "ts_us": _micros(at)}
        images = [None if row is None else {**common, **row} for row in (before, after)]
        op = "c" if before is None else "u"
        envelope = {"op": op, "before": images[0], "after": images[1], "source": source}
        log.keys.add(key)
        log.add(key, json.dumps(envelope).encode())
    return log


def _openings(keys: list[PlannedKey], history: History, begin: datetime) -> Iterator[Written]:
    for number, key in enumerate(keys):
        family = {"replenish_family": "sS", "levels": "fixed", "clock_mode": "live"}
        row = {"id": number, "status": "active", **policy(key), **family}
        yield begin, 0, "item_location", key.inv_key, None, row
        first = {"id": number, "units": history.openings[key.inv_key], "status": "approved"}
        first |= {"kind": "opening", "occurred_at": _iso(begin)}
        yield begin, 1, "stock_count", key.inv_key, None, first


def _facts(history: History) -> Iterator[Written]:
    ids = count(100_000)
    lines: dict[str, int] = {}
    for day in history.days.values():
        for order in day.orders:
            lines[order.order_ref] = next(ids)
            yield _order(order, lines[order.order_ref])
        for goods in day.receipts:
            yield _receipt(goods, next(ids), lines[goods.order_ref])
        for moved in day.transfers:
            yield from _transfer(moved, next(ids), next(ids))
        yield from (_sale(sale, next(ids)) for sale in day.sales)
        yield from (_adjustment(adjusted, next(ids)) for adjusted in day.adjustments)
        yield from (_count(counted, next(ids)) for counted in day.counts)


def _order(order: PastOrder, number: int) -> Written:
    row = {"id": number, "order_ref": order.order_ref, "supplier": order.supplier}
    row |= {"status": "sent", "ordered_units": order.ordered_units}
    row |= {"confirmed_units": order.confirmed_units, "ordered_at": _iso(order.ordered_at)}
    key = f"{order.location}|{order.sku}"
    return order.ordered_at, 2, "purchase_order_line", key, None, row


def _receipt(goods: PastReceipt, number: int, line: int) -> Written:
    row = {"id": number, "leg": "supplier_in", "status": "received"}
    row |= {"purchase_order_line_id": line, "received_units": goods.received_units}
    row |= {"damaged_units": goods.damaged_units, "order_units": goods.order_units}
    row |= {"received_at": _iso(goods.received_at)}
    return goods.received_at, 2, "shipment_line", f"{goods.location}|{goods.sku}", None, row


def _transfer(moved: PastTransfer, out: int, into: int) -> Iterator[Written]:
    at, shipped = moved.shipped_at, {"status": "shipped", "shipped_units": moved.units}
    shipped |= {"shipped_at": _iso(at), "transfer_ref": moved.transfer_ref}
    row = {"id": out, "leg": "transfer_out", **shipped}
    yield at, 2, "shipment_line", f"{moved.source}|{moved.sku}", None, row
    row = {"id": into, "leg": "transfer_in", **shipped}
    key = f"{moved.destination}|{moved.sku}"
    yield at, 2, "shipment_line", key, None, row
    if moved.received_at is not None:
        after = row | {"status": "received", "received_units": moved.received_units}
        after |= {"received_at": _iso(moved.received_at)}
        yield moved.received_at, 3, "shipment_line", key, row, after


def _sale(sale: RecordSale, number: int) -> Written:
    assert sale.occurred_at is not None
    row = {"id": number, "source": sale.source, "source_ref": sale.source_ref}
    row |= {"quantity_units": sale.quantity_units, "amount_minor": sale.amount_minor}
    row |= {"condition": sale.condition, "occurred_at": _iso(sale.occurred_at)}
    return sale.occurred_at, 4, "sale_line", f"{sale.location}|{sale.sku}", None, row


def _adjustment(adjusted: PastAdjustment, number: int) -> Written:
    at, key = adjusted.adjusted_at, f"{adjusted.location}|{adjusted.sku}"
    row = {"id": number, "reason": adjusted.reason, "occurred_at": _iso(at)}
    row |= {"quantity_units": adjusted.quantity_units}
    return at, 5, "stock_adjustment", key, None, row


def _count(counted: PastCount, number: int) -> Written:
    at, key = counted.counted_at, f"{counted.location}|{counted.sku}"
    row = {"id": number, "units": counted.units, "kind": "cycle", "status": "approved"}
    return at, 6, "stock_count", key, None, row | {"occurred_at": _iso(at)}
