"""Row images to facts, with the limits of SQL's CHECKs (domain.md 0, 2.6, 11.8).

Every function raises `Rejected` with reason `limit` for a row that breaks a CHECK. `item_location`
has its own module.
"""

from collections.abc import Callable, Mapping
from typing import Final

from inventory.model.arithmetic import MAX_STORED
from inventory.tables.columns import (
    Row,
    at_least,
    business_us,
    check_origin,
    choice,
    integer,
    optional_business_us,
    optional_integer,
    optional_text,
    optional_units,
    price_minor,
    refuse,
    text,
    units,
    within,
)
from inventory.tables.facts import (
    Fact,
    Heartbeat,
    PriceChange,
    PriceDecision,
    PurchaseOrderLine,
    ReorderDecision,
    SaleLine,
    ShipmentLine,
    StockAdjustment,
    StockCount,
)
from inventory.tables.policy_parsing import item_location

QUANTITY_MAX: Final = 1_000_000
AMOUNT_MAX: Final = 10**11
STEP_MIN: Final = -(2**31)  # the one column of 2.6 that is no bigint
STEP_MAX: Final = 2**31 - 1

CONDITIONS = ("resaleable", "damaged", "discarded")
ORDER_STATUSES = ("draft", "sent", "confirmed", "closed")
LEGS = ("supplier_in", "transfer_out", "transfer_in")
SHIPMENT_STATUSES = ("planned", "shipped", "received")
COUNT_KINDS = ("opening", "cycle", "recount")
COUNT_STATUSES = ("draft", "approved", "void")
ADJUSTMENT_REASONS = (
    "theft",
    "loss",
    "waste",
    "own_use",
    "correction_down",
    "vendor_return",
    "damage",
    "found",
    "correction_up",
    "repair",
    "dispose",
    "vendor_return_damaged",
)
PRICE_KINDS = ("initial", "rule", "manual", "emergency", "rollback")
REORDER_ACTIONS = ("approve", "reject", "snooze", "resume")
PRICE_ACTIONS = ("approve", "reject", "snooze")

Parser = Callable[[str, Row], Fact]


def _sale_line(_: str, row: Row) -> SaleLine:
    optional_text(row, "recorded_by")
    text(row, "source")
    text(row, "source_ref")
    quantity = within(row, "quantity_units", -QUANTITY_MAX, QUANTITY_MAX)
    if quantity == 0:
        refuse("quantity_units", "other than 0", quantity)
    return SaleLine(
        integer(row, "id"),
        quantity,
        within(row, "amount_minor", -AMOUNT_MAX, AMOUNT_MAX),
        choice(row, "condition", CONDITIONS, "resaleable"),
        business_us(row, "occurred_at"),
    )


def _purchase_order_line(_: str, row: Row) -> PurchaseOrderLine:
    check_origin(row)
    text(row, "order_ref")
    text(row, "supplier")
    choice(row, "status", ORDER_STATUSES)
    integer(row, "ordered_at")
    ordered = units(row, "ordered_units")
    confirmed = optional_units(row, "confirmed_units")
    cancelled = units(row, "cancelled_units", 0)
    open_units = ordered if confirmed is None else confirmed
    if cancelled > open_units:
        refuse("cancelled_units", f"at most {open_units}, what is ordered", cancelled)
    return PurchaseOrderLine(
        id=integer(row, "id"),
        reorder_id=optional_text(row, "reorder_id"),
        ordered_units=ordered,
        confirmed_units=confirmed,
        cancelled_units=cancelled,
    )


def _shipment_line(_: str, row: Row) -> ShipmentLine:
    check_origin(row)
    optional_integer(row, "purchase_order_line_id")
    optional_text(row, "transfer_ref")
    optional_text(row, "discrepancy_reason")
    line = ShipmentLine(
        id=integer(row, "id"),
        leg=choice(row, "leg", LEGS),
        status=choice(row, "status", SHIPMENT_STATUSES),
        reorder_id=optional_text(row, "reorder_id"),
        planned_units=units(row, "planned_units", 0),
        shipped_units=units(row, "shipped_units", 0),
        received_units=units(row, "received_units", 0),
        damaged_units=units(row, "damaged_units", 0),
        order_units=units(row, "order_units", 0),
        shipped_business_at_us=optional_business_us(row, "shipped_at"),
        received_business_at_us=optional_business_us(row, "received_at"),
    )
    if line.leg != "transfer_in" and line.reorder_id is not None:
        refuse("reorder_id", "null on a leg other than transfer_in", line.reorder_id)
    _check_progress(line)
    return line


def _check_progress(line: ShipmentLine) -> None:
    """Check the columns of each status: an event that has not happened has no units and no time."""
    arrived = line.received_units + line.damaged_units
    if line.status == "received":
        if line.leg == "transfer_out":
            refuse("status", "planned or shipped on transfer_out", line.status)
        if line.received_business_at_us is None:
            refuse("received_at", "present on a received line", None)
    elif arrived > 0:
        refuse("received_units and damaged_units", "0 on a line not received", arrived)
    if line.order_units > arrived:
        refuse("order_units", f"at most {arrived}, what arrived", line.order_units)
    if line.status == "shipped" and line.shipped_business_at_us is None:
        refuse("shipped_at", "present on a shipped line", None)
    if line.status == "planned" and line.shipped_units > 0:
        refuse("shipped_units", "0 on a planned line", line.shipped_units)


def _stock_count(_: str, row: Row) -> StockCount:
    optional_text(row, "recorded_by")
    return StockCount(
        integer(row, "id"),
        units(row, "units"),
        choice(row, "kind", COUNT_KINDS),
        choice(row, "status", COUNT_STATUSES),
        business_us(row, "occurred_at"),
    )


def _stock_adjustment(_: str, row: Row) -> StockAdjustment:
    optional_text(row, "recorded_by")
    return StockAdjustment(
        integer(row, "id"),
        choice(row, "reason", ADJUSTMENT_REASONS),
        within(row, "quantity_units", 1, QUANTITY_MAX),
        business_us(row, "occurred_at"),
    )


def _price_change(_: str, row: Row) -> PriceChange:
    check_origin(row)
    price = price_minor(row, "price_minor")
    floor = at_least(row, "floor_minor", 0)
    if price < floor:
        refuse("price_minor", f"at least the floor {floor}", price)
    return PriceChange(
        id=integer(row, "id"),
        effective_from_us=within(row, "effective_from", -MAX_STORED, MAX_STORED),
        price_minor=price,
        step=within(row, "step", STEP_MIN, STEP_MAX, 0),
        kind=choice(row, "kind", PRICE_KINDS),
        proposal_id=optional_text(row, "proposal_id"),
        floor_minor=floor,
    )


def _reorder_decision(_: str, row: Row) -> ReorderDecision:
    check_origin(row)
    optional_integer(row, "need_revision")
    return ReorderDecision(
        integer(row, "id"),
        text(row, "reorder_id"),
        choice(row, "action", REORDER_ACTIONS),
        optional_integer(row, "until_at"),
        optional_text(row, "reason"),
    )


def _price_decision(_: str, row: Row) -> PriceDecision:
    check_origin(row)
    optional_integer(row, "price_revision")
    return PriceDecision(
        integer(row, "id"),
        text(row, "proposal_id"),
        choice(row, "action", PRICE_ACTIONS),
        optional_integer(row, "until_at"),
        optional_text(row, "reason"),
    )


def _heartbeat(_: str, row: Row) -> Heartbeat:
    check_origin(row)
    optional_integer(row, "occurred_at")
    return Heartbeat(integer(row, "id"), within(row, "beat", -MAX_STORED, MAX_STORED, 0))


PARSERS: Final[Mapping[str, Parser]] = {
    "sale_line": _sale_line,
    "purchase_order_line": _purchase_order_line,
    "shipment_line": _shipment_line,
    "stock_count": _stock_count,
    "stock_adjustment": _stock_adjustment,
    "price_change": _price_change,
    "reorder_decision": _reorder_decision,
    "price_decision": _price_decision,
    "item_location": item_location,
    "pipeline_heartbeat": _heartbeat,
}
