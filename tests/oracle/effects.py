"""Effect of one row image (2.3): a function of the image alone."""

from dataclasses import dataclass

from tests.oracle.columns import REASONS_DOWN, REASONS_UP, Row, business_time


@dataclass
class Effect:
    """Contribution of one image; `movement` is (business time, units)."""

    movement: tuple[int, int] | None = None
    unavailable: int = 0
    on_order: int = 0
    in_transit: int = 0
    line: tuple[int, int, int] | None = None
    """(business time, signed quantity, amount)"""
    count: tuple[int, int, int, str] | None = None
    """(business time, id, units, kind)"""


def effect_of(table: str, row: Row) -> Effect:
    """Return the contribution of an image. It is empty for tables without effect on stock."""
    if table == "sale_line":
        return _sale(row)
    if table == "purchase_order_line":
        ordered = row["ordered_units"] if row["confirmed_units"] is None else row["confirmed_units"]
        return Effect(on_order=ordered - row["cancelled_units"])
    if table == "shipment_line":
        return _shipment(row)
    if table == "stock_adjustment":
        return _adjustment(row)
    if table == "stock_count" and row["status"] == "approved":
        at = business_time(row, "occurred_at")
        return Effect(count=(at, row["id"], row["units"], row["kind"]))
    return Effect()


def _sale(row: Row) -> Effect:
    at, quantity = business_time(row, "occurred_at"), row["quantity_units"]
    line = (at, quantity, row["amount_minor"])
    if quantity > 0 or row["condition"] == "resaleable":
        return Effect(movement=(at, -quantity), line=line)
    if row["condition"] == "damaged":
        return Effect(unavailable=-quantity, line=line)
    return Effect(line=line)


def _shipment(row: Row) -> Effect:
    leg, status = row["leg"], row["status"]
    if leg == "transfer_out":
        if status == "planned":
            return Effect()
        return Effect(movement=(business_time(row, "shipped_at"), -row["shipped_units"]))
    if status == "received":
        return Effect(
            movement=(business_time(row, "received_at"), row["received_units"]),
            unavailable=row["damaged_units"],
            on_order=-row["order_units"] if leg == "supplier_in" else 0,
        )
    if status == "shipped":
        on_order = row["shipped_units"] if leg == "transfer_in" else 0
        return Effect(on_order=on_order, in_transit=row["shipped_units"])
    return Effect(on_order=row["planned_units"] if leg == "transfer_in" else 0)


def _adjustment(row: Row) -> Effect:
    at, q, reason = business_time(row, "occurred_at"), row["quantity_units"], row["reason"]
    unavailable = {"damage": q, "repair": -q, "dispose": -q, "vendor_return_damaged": -q}
    on_hand = -q if reason in REASONS_DOWN else q if reason in REASONS_UP else 0
    return Effect(movement=(at, on_hand), unavailable=unavailable.get(reason, 0))
