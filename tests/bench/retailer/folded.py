"""The states of the planned demo by the pure rules, without a database.

Each fact is one record, in the order in which the demo writes them. As in the demo, the items are
replayed items at first. Then one update of each policy switches the item to the clock mode `live`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bench.retailer.history_values import Day, History
from bench.retailer.retailer import PlannedKey, policy
from cdc.contracts.times import us_of
from inventory.fold.record import Applied, fold
from inventory.log.dedupe import Admission
from inventory.model.ids import InvKey
from inventory.model.record import Record
from inventory.model.state import KeyState
from inventory.replenishment.attention import NeedFacts
from ledger.services import PastOrder, PastReceipt, PastTransfer

Row = dict[str, Any]


@dataclass(slots=True)
class Folded:
    """The state of every key, and the open order lines by reference."""

    now_us: int
    states: dict[str, KeyState] = field(default_factory=dict)
    lines: dict[str, Row] = field(default_factory=dict)
    records: int = 0

    def write(self, table: str, inv_key: str, row: Row, before: Row | None = None) -> Row:
        """Fold one insert, or one update of the row `before`; return the row as it is now."""
        self.records += 1
        location, sku = inv_key.split("|")
        known = {"inv_key": inv_key, "location": location, "sku": sku, "recorded_at": self.now_us}
        after = {"id": self.records} | (before or {}) | row | known
        operation, key, number = "u" if before else "c", InvKey(inv_key), self.records
        record = Record(number, key, table, operation, before, after, number, self.now_us)
        folded = fold(self.states.get(inv_key), record, Admission.NEW, 1)
        assert isinstance(folded, Applied), (after, folded)
        self.states[inv_key] = folded.state
        return after


def folded_demo(keys: list[PlannedKey], history: History, now: datetime) -> Folded:
    """Return all states and open order lines at `now`, just after the switch to `live`."""
    begins = min(history.days)
    whole = Folded(us_of(now))
    policies: dict[str, Row] = {}
    for key in keys:
        policies[key.inv_key] = whole.write("item_location", key.inv_key, _policy(key))
        opening: Row = {
            "units": history.openings[key.inv_key],
            "kind": "opening",
            "status": "approved",
        }
        whole.write("stock_count", key.inv_key, opening | {"occurred_at": us_of(begins)})
        if key.is_store:
            price: Row = {
                "price_minor": key.item.regular_minor,
                "floor_minor": key.item.floor_minor,
            }
            price |= {"kind": "initial", "effective_from": us_of(begins)}
            whole.write("price_change", key.inv_key, price)
    for day in history.days.values():
        for table, inv_key, row in _facts(day):
            if inv_key not in policies:
                continue
            line = whole.write(table, inv_key, row)
            if table == "purchase_order_line":
                whole.lines[line["order_ref"]] = line
        _close_short(whole, day)
    for key in keys:
        live: Row = {"clock_mode": "live", "replenish_family": key.family}
        live |= {"price_mode": key.price_mode, "reviewed_at": whole.now_us}
        whole.write("item_location", key.inv_key, live, policies[key.inv_key])
    return whole


def need_facts(state: KeyState) -> NeedFacts:
    """Return the facts by which `attention` decides if a buyer must look at the open need."""
    need, policy = state.episode.last_output, state.policy
    assert need is not None
    assert need.quantity_units is not None
    assert policy is not None
    return NeedFacts(
        supplier=policy.supplier,
        is_supplier_active=True,
        on_hand_units=state.stock.on_hand_units,
        is_phantom_suspect=False,
        quantity_units=need.quantity_units,
        pack_units=policy.pack_units,
        cost_minor=policy.cost_minor,
        auto_max_minor=policy.auto_max_minor,
        flags=need.flags,
    )


def _policy(key: PlannedKey) -> Row:
    return {"status": "active", **policy(key)}


def _facts(day: Day) -> Iterator[tuple[str, str, Row]]:
    for price in day.prices:
        row: Row = {"price_minor": price.price_minor, "floor_minor": price.floor_minor}
        row |= {"kind": "manual", "effective_from": us_of(price.effective_from)}
        yield "price_change", f"{price.location}|{price.sku}", row
    for order in day.orders:
        yield "purchase_order_line", f"{order.location}|{order.sku}", _order(order)
    for goods in day.transfers:
        yield "shipment_line", f"{goods.source}|{goods.sku}", _sent(goods)
        yield "shipment_line", f"{goods.destination}|{goods.sku}", _arriving(goods)
    for receipt in day.receipts:
        yield "shipment_line", f"{receipt.location}|{receipt.sku}", _receipt(receipt)
    for line in day.sales:
        row = {"source": line.source, "source_ref": line.source_ref}
        row |= {"quantity_units": line.quantity_units, "amount_minor": line.amount_minor}
        row |= {"condition": line.condition}
        row |= {"occurred_at": None if line.occurred_at is None else us_of(line.occurred_at)}
        yield "sale_line", f"{line.location}|{line.sku}", row
    for booked in day.adjustments:
        row = {"reason": booked.reason, "quantity_units": booked.quantity_units}
        row |= {"occurred_at": us_of(booked.adjusted_at)}
        yield "stock_adjustment", f"{booked.location}|{booked.sku}", row
    for count in day.counts:
        row = {"units": count.units, "kind": "cycle", "status": "approved"}
        row |= {"occurred_at": us_of(count.counted_at)}
        yield "stock_count", f"{count.location}|{count.sku}", row


def _order(order: PastOrder) -> Row:
    return {
        "order_ref": order.order_ref,
        "supplier": order.supplier,
        "status": "closed" if order.is_closed else "confirmed",
        "ordered_units": order.ordered_units,
        "confirmed_units": order.confirmed_units,
        "cancelled_units": 0,
        "ordered_at": us_of(order.ordered_at),
    }


def _sent(goods: PastTransfer) -> Row:
    row: Row = {"leg": "transfer_out", "status": "shipped", "transfer_ref": goods.transfer_ref}
    row |= {"planned_units": goods.units, "shipped_units": goods.units}
    return row | {"shipped_at": us_of(goods.shipped_at)}


def _arriving(goods: PastTransfer) -> Row:
    row = _sent(goods) | {"leg": "transfer_in"}
    if goods.received_at is None:
        return row
    row |= {"status": "received", "received_units": goods.received_units}
    return row | {"received_at": us_of(goods.received_at)}


def _receipt(receipt: PastReceipt) -> Row:
    return {
        "leg": "supplier_in",
        "status": "received",
        "shipped_units": receipt.received_units + receipt.damaged_units,
        "received_units": receipt.received_units,
        "damaged_units": receipt.damaged_units,
        "order_units": receipt.order_units,
        "received_at": us_of(receipt.received_at),
    }


def _close_short(whole: Folded, day: Day) -> None:
    for short in day.short:
        line = whole.lines.get(short.order_ref)
        if line is None:
            continue
        closed = {"status": "closed", "cancelled_units": short.cancelled_units}
        whole.lines[short.order_ref] = whole.write(
            "purchase_order_line", line["inv_key"], closed, line
        )
