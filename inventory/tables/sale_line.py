"""`sale_line`: one line of a till receipt."""

from typing import Final

from inventory.model.fact import Effect
from inventory.model.value import value
from inventory.tables.captured import BIGINT, TEXT, TIME, CapturedTable
from inventory.tables.columns import (
    AMOUNT_MAX,
    QUANTITY_MAX,
    Row,
    business_us,
    choice,
    integer,
    optional_text,
    refuse,
    text,
    within,
)

RESALEABLE, DAMAGED, DISCARDED = "resaleable", "damaged", "discarded"
CONDITIONS: Final = (RESALEABLE, DAMAGED, DISCARDED)


@value
class SaleLine:
    """One line of a till receipt. A negative quantity is a return, a positive one a sale."""

    id: int
    quantity_units: int
    amount_minor: int
    condition: str
    business_at_us: int

    def effect(self, sign: int) -> Effect | None:
        """Return the change of stock, and the quantity and amount for the window (domain.md 2.3).

        A sale lowers on-hand. The effect of a return depends on its `condition`: `resaleable`
        raises on-hand, `damaged` raises unavailable, and `discarded` changes no stock.
        """
        quantity = self.quantity_units
        moved = unavailable = 0
        if quantity > 0 or self.condition == RESALEABLE:
            moved = -sign * quantity
        elif self.condition == DAMAGED:
            unavailable = -sign * quantity
        # Positional arguments: each sale builds an effect, and keywords cost a third more.
        return Effect(
            sign, self.business_at_us, moved, unavailable, 0, 0, quantity, self.amount_minor
        )

    def business_times(self) -> tuple[int, ...]:
        """Return the time of the sale."""
        return (self.business_at_us,)


def parse(_: str, row: Row) -> SaleLine:
    """Return the sale line in `row`, or raise `Rejected` if a column breaks a limit."""
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
        choice(row, "condition", CONDITIONS, RESALEABLE),
        business_us(row, "occurred_at"),
    )


TABLE: Final = CapturedTable(
    name="sale_line",
    columns=(
        ("source", TEXT),
        ("source_ref", TEXT),
        ("quantity_units", BIGINT),
        ("amount_minor", BIGINT),
        ("condition", TEXT),
        ("occurred_at", TIME),
    ),
    parse=parse,
    has_movements=True,
)
