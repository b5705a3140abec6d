"""Rows of an item's timeline of prices; the item's lock orders those who write them."""

from dataclasses import dataclass
from datetime import datetime

from ledger.kernel.row_parts import Stamped
from ledger.kernel.unscoped_rows import read_one


@dataclass(frozen=True, slots=True)
class PriceStep:
    """A price and its step on the ladder of markdowns."""

    price_minor: int
    step: int


@dataclass(frozen=True, slots=True)
class TimelineRow(PriceStep, Stamped):
    """One row of `retail.price_change`."""

    id: int
    kind: str
    effective_from: datetime
    recorded_by: str | None
    recorded_at: datetime

    @property
    def origin(self) -> str:
        """Person and time of the write, for a sentence."""
        return f"written by {self.writer} at {self.write_time}"


def newest_price(inv_key: str) -> TimelineRow | None:
    """Return the last row of a key's timeline, including scheduled ones, or None."""
    return read_one(
        TimelineRow,
        "SELECT id, price_minor, step, kind, effective_from, recorded_by, recorded_at"
        " FROM retail.price_change"
        " WHERE inv_key = %s ORDER BY effective_from DESC, id DESC LIMIT 1",
        inv_key,
    )


def step_before(inv_key: str, row: TimelineRow) -> PriceStep | None:
    """Return price and step of the row before this one, or None if it is the first."""
    return read_one(
        PriceStep,
        "SELECT price_minor, step FROM retail.price_change"
        " WHERE inv_key = %s AND (effective_from, id) < (%s, %s)"
        " ORDER BY effective_from DESC, id DESC LIMIT 1",
        inv_key,
        row.effective_from,
        row.id,
    )
