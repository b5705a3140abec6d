"""`stock_adjustment`: units that a person books in or out, with a reason."""

from typing import Final

from inventory.model.fact import Effect
from inventory.model.value import value
from inventory.tables.captured import BIGINT, TEXT, TIME, CapturedTable
from inventory.tables.columns import (
    QUANTITY_MAX,
    Row,
    business_us,
    choice,
    integer,
    optional_text,
    within,
)

# (sign of the on-hand movement, sign of the change of unavailable) by reason.
SIGNS: Final = {
    "theft": (-1, 0),
    "loss": (-1, 0),
    "waste": (-1, 0),
    "own_use": (-1, 0),
    "correction_down": (-1, 0),
    "vendor_return": (-1, 0),
    "damage": (-1, 1),
    "found": (1, 0),
    "correction_up": (1, 0),
    "repair": (1, -1),
    "dispose": (0, -1),
    "vendor_return_damaged": (0, -1),
}
REASONS: Final = tuple(SIGNS)


@value
class StockAdjustment:
    """Units booked by hand. The constant `SIGNS` has the direction of each reason.

    For example, `damage` lowers on-hand and raises unavailable.
    """

    id: int
    reason: str
    quantity_units: int
    business_at_us: int

    def effect(self, sign: int) -> Effect | None:
        """Return the changes of on-hand and unavailable, by `SIGNS` (domain.md 2.3)."""
        on_hand, unavailable = SIGNS[self.reason]
        moved = sign * self.quantity_units
        return Effect(sign, self.business_at_us, on_hand * moved, unavailable * moved)

    def business_times(self) -> tuple[int, ...]:
        """Return the business time of the adjustment."""
        return (self.business_at_us,)


def parse(_: str, row: Row) -> StockAdjustment:
    """Return the adjustment in `row`, or raise `Rejected` if a column breaks a limit."""
    optional_text(row, "recorded_by")
    return StockAdjustment(
        integer(row, "id"),
        choice(row, "reason", REASONS),
        within(row, "quantity_units", 1, QUANTITY_MAX),
        business_us(row, "occurred_at"),
    )


TABLE: Final = CapturedTable(
    name="stock_adjustment",
    columns=(("reason", TEXT), ("quantity_units", BIGINT), ("occurred_at", TIME)),
    parse=parse,
    has_movements=True,
)
