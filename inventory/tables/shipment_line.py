"""`shipment_line`: goods from a supplier, or goods of a transfer.

A transfer between two locations has two rows: one at its source and one at its destination.
"""

from typing import Final

from inventory.model.fact import Effect
from inventory.model.value import value
from inventory.tables.captured import BIGINT, DATE, TEXT, TIME, CapturedTable
from inventory.tables.columns import (
    Row,
    check_origin,
    choice,
    integer,
    optional_business_us,
    optional_integer,
    optional_text,
    refuse,
    units,
)

LEGS: Final = ("supplier_in", "transfer_out", "transfer_in")
STATUSES: Final = ("planned", "shipped", "received")


@value
class ShipmentLine:
    """Goods of one item that come from a supplier, or leave or enter this location by a transfer.

    `leg` is `supplier_in`, `transfer_out` or `transfer_in`. A business time is None while its
    column is null. `order_units` are the units by which a receipt from a supplier lowers on-order.
    """

    id: int
    leg: str
    status: str
    reorder_id: str | None
    planned_units: int
    shipped_units: int
    received_units: int
    damaged_units: int
    order_units: int
    shipped_business_at_us: int | None
    received_business_at_us: int | None

    def effect(self, sign: int) -> Effect | None:
        """Return the line's effect on stock, or None if it has none yet (domain.md 2.3).

        The effect depends on leg and status.
        """
        if self.leg == "transfer_out":
            if self.status == "planned" or self.shipped_business_at_us is None:
                return None
            return Effect(sign, self.shipped_business_at_us, -sign * self.shipped_units)
        if self.status == "received":
            return _receipt(self, sign)
        is_transfer = self.leg == "transfer_in"
        if self.status == "planned":
            return Effect(sign, on_order_units=sign * self.planned_units) if is_transfer else None
        shipped = sign * self.shipped_units
        on_order = shipped if is_transfer else 0
        return Effect(sign, on_order_units=on_order, in_transit_units=shipped)

    def business_times(self) -> tuple[int, ...]:
        """Return the business times of shipping and receipt, without those that are null."""
        times = (self.shipped_business_at_us, self.received_business_at_us)
        return tuple(at_us for at_us in times if at_us is not None)


def _receipt(line: ShipmentLine, sign: int) -> Effect:
    """Return a receipt's effect: on-hand +received, unavailable +damaged, on-order -`order_units`.

    One record changes all three, and the rules decide only after the three changes. A transfer has
    no order line, so its `order_units` have no effect.
    """
    settled = line.order_units if line.leg == "supplier_in" else 0
    return Effect(
        sign,
        line.received_business_at_us or 0,
        sign * line.received_units,
        sign * line.damaged_units,
        -sign * settled,
    )


def parse(_: str, row: Row) -> ShipmentLine:
    """Return the shipment line in `row`, or raise `Rejected` if a column breaks a limit."""
    check_origin(row)
    optional_integer(row, "purchase_order_line_id")
    optional_text(row, "transfer_ref")
    optional_text(row, "discrepancy_reason")
    line = ShipmentLine(
        id=integer(row, "id"),
        leg=choice(row, "leg", LEGS),
        status=choice(row, "status", STATUSES),
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
    """Check the units and times against the status (domain.md 2.6, 11.8), or raise `Rejected`.

    A line that is not received has no received or damaged units. A planned line has no shipped
    units. A shipped line has a shipping time, and a received line a time of receipt.
    """
    arrived = line.received_units + line.damaged_units
    if line.status == "received":
        if line.leg == "transfer_out":
            refuse("status", "planned or shipped on transfer_out", line.status)
        if line.received_business_at_us is None:
            refuse("received_at", "present on a received line", None)
    elif arrived > 0:
        refuse("received_units and damaged_units", "0 on a line that is not received", arrived)
    if line.order_units > arrived:
        refuse("order_units", f"at most {arrived}, the units that arrived", line.order_units)
    if line.status == "shipped" and line.shipped_business_at_us is None:
        refuse("shipped_at", "present on a shipped line", None)
    if line.status == "planned" and line.shipped_units > 0:
        refuse("shipped_units", "0 on a planned line", line.shipped_units)


TABLE: Final = CapturedTable(
    name="shipment_line",
    columns=(
        ("leg", TEXT),
        ("status", TEXT),
        ("purchase_order_line_id", BIGINT),
        ("transfer_ref", TEXT),
        ("reorder_id", TEXT),
        ("planned_units", BIGINT),
        ("shipped_units", BIGINT),
        ("received_units", BIGINT),
        ("damaged_units", BIGINT),
        ("order_units", BIGINT),
        ("shipped_at", TIME),
        ("received_at", TIME),
        ("due_on", DATE),
        ("discrepancy_reason", TEXT),
    ),
    parse=parse,
    has_movements=True,
    has_inbound=True,
)
