"""`stock_count`: the units that a person counted."""

from typing import Final

from inventory.model.fact import WithoutEffect
from inventory.model.value import value
from inventory.tables.captured import BIGINT, TEXT, TIME, CapturedTable
from inventory.tables.columns import Row, business_us, choice, integer, optional_text, units

KINDS: Final = ("opening", "cycle", "recount")
STATUSES: Final = ("draft", "approved", "void")


@value
class StockCount(WithoutEffect):
    """A stock count. Only an approved count replaces the computed on-hand (domain.md 2.4)."""

    id: int
    units: int
    kind: str
    status: str
    business_at_us: int

    def business_times(self) -> tuple[int, ...]:
        """Return the business time of the count, in every status."""
        return (self.business_at_us,)


def parse(_: str, row: Row) -> StockCount:
    """Return the count in `row`, or raise `Rejected` if a column breaks a limit."""
    optional_text(row, "recorded_by")
    return StockCount(
        integer(row, "id"),
        units(row, "units"),
        choice(row, "kind", KINDS),
        choice(row, "status", STATUSES),
        business_us(row, "occurred_at"),
    )


TABLE: Final = CapturedTable(
    name="stock_count",
    columns=(("units", BIGINT), ("kind", TEXT), ("status", TEXT), ("occurred_at", TIME)),
    parse=parse,
)
