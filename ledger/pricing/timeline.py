"""Rows of an item's timeline of prices (`retail.price_change`).

These queries take no lock. A service that writes a price locks the item before it calls them.
"""

from dataclasses import dataclass
from datetime import datetime

from ledger.kernel.row_parts import Stamped
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message


@dataclass(frozen=True, slots=True)
class PriceStep:
    """A price in minor units and its step: 0 regular, above 0 a markdown, below 0 a raise."""

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
        """Author and time of the write: `written by ann at 2026-11-21 10:42 UTC`."""
        return Message(
            "written by %(writer)s at %(write_time)s",
            writer=self.writer,
            write_time=self.write_time,
        )


def newest_price(inv_key: str) -> TimelineRow | None:
    """Return the price with the latest `effective_from`, even a future one; None without prices."""
    return read_one(
        TimelineRow,
        "SELECT id, price_minor, step, kind, effective_from, recorded_by, recorded_at"
        " FROM retail.price_change"
        " WHERE inv_key = %s ORDER BY effective_from DESC, id DESC LIMIT 1",
        inv_key,
    )


def last_written_price(inv_key: str) -> TimelineRow | None:
    """Return the price of an item that was written last, or None if the item has no price.

    Another price of the item may have a later `effective_from`. The price that was written last has
    the highest id, because writers lock the item before they insert.
    """
    return read_one(
        TimelineRow,
        "SELECT id, price_minor, step, kind, effective_from, recorded_by, recorded_at"
        " FROM retail.price_change WHERE inv_key = %s ORDER BY id DESC LIMIT 1",
        inv_key,
    )


def step_before(inv_key: str, row: TimelineRow) -> PriceStep | None:
    """Return price and step of the row before `row`, None if `row` is the item's first.

    Rows are ordered by `effective_from`, then by id.
    """
    return read_one(
        PriceStep,
        "SELECT price_minor, step FROM retail.price_change"
        " WHERE inv_key = %s AND (effective_from, id) < (%s, %s)"
        " ORDER BY effective_from DESC, id DESC LIMIT 1",
        inv_key,
        row.effective_from,
        row.id,
    )
