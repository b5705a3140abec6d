"""The prices of one key over time: a tuple of rows sorted by (effective_from_us, id)."""

from typing import Protocol

from inventory.model.arithmetic import DAY_US
from inventory.model.value import value

HISTORY_US = 31 * DAY_US
PRIOR_SPAN_US = 30 * DAY_US


@value
class PriceRow:
    """One price from `effective_from_us` until the next row takes over."""

    effective_from_us: int
    id: int
    price_minor: int
    step: int
    kind: str


Timeline = tuple[PriceRow, ...]


class PricedFact(Protocol):
    """What a `price_change` row has to say; a protocol, because facts are built on the model."""

    @property
    def effective_from_us(self) -> int: ...
    @property
    def id(self) -> int: ...
    @property
    def price_minor(self) -> int: ...
    @property
    def step(self) -> int: ...
    @property
    def kind(self) -> str: ...


def add_row(timeline: Timeline, fact: PricedFact) -> Timeline:
    """The timeline with the row of `fact` at its place; a later id wins at an equal time."""
    row = PriceRow(
        fact.effective_from_us, fact.id, fact.price_minor, fact.step, fact.kind
    )
    return tuple(sorted((*timeline, row), key=_order))


def in_force(timeline: Timeline, at_us: int) -> PriceRow | None:
    """The row with the greatest (effective_from_us, id) that began at or before `at_us`."""
    found = None
    for row in timeline:
        if row.effective_from_us > at_us:
            break
        found = row
    return found


def step_at(timeline: Timeline, at_us: int) -> int:
    """Step of the price in force at `at_us`: 0 regular or no row, 1 … markdown, −1 … raise."""
    row = in_force(timeline, at_us)
    return 0 if row is None else row.step


def prune(timeline: Timeline, stream_time_us: int) -> Timeline:
    """The rows that a later decision can still need (domain.md 11.9)."""
    return timeline if stream_time_us >= 0 else timeline


def prior_price(
    timeline: Timeline, effective_at_us: int, *, progressive: bool
) -> int | None:
    """Lowest price of the 30 days before a reduction (domain.md 6.2); None without history."""
    raise NotImplementedError


def _order(row: PriceRow) -> tuple[int, int]:
    return row.effective_from_us, row.id
