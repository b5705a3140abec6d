"""`purchase_order_line`: units ordered from a supplier."""

from typing import Final

from inventory.model.fact import Effect, WithoutTimes
from inventory.model.value import value
from inventory.tables.captured import BIGINT, DATE, TEXT, TIME, CapturedTable
from inventory.tables.columns import (
    Row,
    check_origin,
    choice,
    integer,
    optional_text,
    optional_units,
    refuse,
    text,
    units,
)

STATUSES: Final = ("draft", "sent", "confirmed", "closed")


@value
class PurchaseOrderLine(WithoutTimes):
    """Units ordered from a supplier. `reorder_id` is set if the line answers a need."""

    id: int
    reorder_id: str | None
    ordered_units: int
    confirmed_units: int | None
    cancelled_units: int

    def effect(self, sign: int) -> Effect | None:
        """Return the change of on-order: confirmed - cancelled units.

        If `confirmed_units` is None, the change is ordered - cancelled units. The status of the
        line has no effect (domain.md 2.3).
        """
        ordered = self.ordered_units if self.confirmed_units is None else self.confirmed_units
        return Effect(sign, on_order_units=sign * (ordered - self.cancelled_units))


def parse(_: str, row: Row) -> PurchaseOrderLine:
    """Return the order line in `row`, or raise `Rejected` if a column breaks a limit."""
    check_origin(row)
    text(row, "order_ref")
    text(row, "supplier")
    choice(row, "status", STATUSES)
    integer(row, "ordered_at")
    ordered = units(row, "ordered_units")
    confirmed = optional_units(row, "confirmed_units")
    cancelled = units(row, "cancelled_units", 0)
    open_units = ordered if confirmed is None else confirmed
    if cancelled > open_units:
        refuse(
            "cancelled_units",
            f"at most {open_units}, the confirmed or else the ordered units",
            cancelled,
        )
    return PurchaseOrderLine(
        id=integer(row, "id"),
        reorder_id=optional_text(row, "reorder_id"),
        ordered_units=ordered,
        confirmed_units=confirmed,
        cancelled_units=cancelled,
    )


TABLE: Final = CapturedTable(
    name="purchase_order_line",
    columns=(
        ("order_ref", TEXT),
        ("reorder_id", TEXT),
        ("supplier", TEXT),
        ("status", TEXT),
        ("ordered_units", BIGINT),
        ("confirmed_units", BIGINT),
        ("cancelled_units", BIGINT),
        ("ordered_at", TIME),
        ("due_on", DATE),
    ),
    parse=parse,
    has_inbound=True,
)
