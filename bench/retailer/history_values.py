"""Data classes of a planned history."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from ledger.services import (
    PastAdjustment,
    PastCount,
    PastOrder,
    PastPrice,
    PastReceipt,
    PastTransfer,
    RecordSale,
    ShortLine,
)


@dataclass(slots=True)
class Day:
    """The facts of one day. `demo_history` defines the order in which they are written."""

    prices: list[PastPrice] = field(default_factory=list)
    receipts: list[PastReceipt] = field(default_factory=list)
    transfers: list[PastTransfer] = field(default_factory=list)
    sales: list[RecordSale] = field(default_factory=list)
    adjustments: list[PastAdjustment] = field(default_factory=list)
    counts: list[PastCount] = field(default_factory=list)
    orders: list[PastOrder] = field(default_factory=list)
    short: list[ShortLine] = field(default_factory=list)


@dataclass(slots=True)
class Tally:
    """Totals of a history, including events without a fact, such as thefts and unmet demand."""

    sale_lines: int = 0
    late_lines: int = 0
    units_sold: int = 0
    units_lost: int = 0
    thefts: int = 0
    counts: int = 0
    variances: int = 0
    orders: int = 0
    transfers: int = 0
    phantom_keys: int = 0


class Closing(NamedTuple):
    """The final units of a key, on the shelf (real units) and in the book (recorded units)."""

    on_shelf: int
    in_book: int


@dataclass(slots=True)
class History:
    """Facts by day (the midnight at its start), opening and closing units by key, and totals."""

    days: dict[datetime, Day]
    openings: dict[str, int]
    closings: dict[str, Closing]
    tally: Tally
