"""The prices of one key over time (domain.md 6.1, 6.2, 11.9).

A timeline is a tuple of rows, sorted by (effective_from_us, id).
"""

from itertools import zip_longest
from typing import Protocol

from inventory.model.arithmetic import DAY_US
from inventory.model.value import value

HISTORY_US = 31 * DAY_US
PRIOR_SPAN_US = 30 * DAY_US
ROWS_BEFORE_HISTORY = 2


@value
class PriceRow:
    """One price. It is in force from `effective_from_us` (µs since 1970 UTC) until the next row."""

    effective_from_us: int
    id: int
    price_minor: int
    step: int
    kind: str


Timeline = tuple[PriceRow, ...]


class PricedFact(Protocol):
    """The columns of a `price_change` row that a timeline needs.

    This is a protocol, because this package can't import `inventory.tables`: that package imports
    this one.
    """

    @property
    def effective_from_us(self) -> int:
        """Return the time from which the price is in force (µs since 1970 UTC)."""
        ...

    @property
    def id(self) -> int:
        """Return the primary key of the row, by which rows with equal times are sorted."""
        ...

    @property
    def price_minor(self) -> int:
        """Return the price in minor units, from 1 to 10^9."""
        ...

    @property
    def step(self) -> int:
        """Return the price step: 0 is the regular price, ≥ 1 a markdown, ≤ -1 a raise."""
        ...

    @property
    def kind(self) -> str:
        """Return the price's origin: `initial`, `rule`, `manual`, `emergency` or `rollback`."""
        ...


def add_row(timeline: Timeline, fact: PricedFact) -> Timeline:
    """Return the timeline with the row of `fact` added.

    Of several rows with equal times, only the row with the highest id is ever in force.
    """
    row = PriceRow(fact.effective_from_us, fact.id, fact.price_minor, fact.step, fact.kind)
    return tuple(sorted((*timeline, row), key=_order))


def in_force(timeline: Timeline, at_us: int) -> PriceRow | None:
    """Return the price row in force at `at_us`, or None before the first price.

    It is the row with the greatest (effective_from_us, id) that began at or before `at_us`.
    """
    for row in reversed(timeline):
        if row.effective_from_us <= at_us:
            return row
    return None


def step_at(timeline: Timeline, at_us: int) -> int:
    """Return the price step in force at `at_us`: 0 regular or no row, ≥ 1 markdown, ≤ -1 raise."""
    row = in_force(timeline, at_us)
    return 0 if row is None else row.step


def first_cut(timeline: Timeline, at_us: int) -> PriceRow | None:
    """Return the first of the price cuts up to `at_us` that no raise has followed, or None.

    Example: 999, 849, 849, 799 gives the first row with 849. 999, 849, 899 gives None, because a
    raise has followed the cut. A row with an equal price is neither a cut nor a raise. A row
    exactly at `at_us` counts. Of rows with the same `effective_from_us`, only the last was in
    force.
    """
    begun = [
        row
        for row, later in zip_longest(timeline, timeline[1:])
        if row.effective_from_us <= at_us
        and (later is None or later.effective_from_us > row.effective_from_us)
    ]
    first = None
    for row, earlier in zip(reversed(begun), reversed(begun[:-1]), strict=False):
        if row.price_minor > earlier.price_minor:
            break
        if row.price_minor < earlier.price_minor:
            first = row
    return first


def prune(timeline: Timeline, stream_time_us: int) -> Timeline:
    """Return the rows that a later decision can still need (domain.md 11.9).

    These are all rows from a time T on, and the two rows before T. T is 31 days before the
    `first_cut` at the stream time. Without such a cut, T is 31 days before the stream time. The
    newer of the two rows is the price in force just before T. The older row shows whether that
    price was a cut or a raise.
    """
    is_long = len(timeline) > ROWS_BEFORE_HISTORY
    # `horizon_us` below is never later than stream time - 31 d, so most keys return here.
    if (
        not is_long
        or timeline[ROWS_BEFORE_HISTORY].effective_from_us >= stream_time_us - HISTORY_US
    ):
        return timeline
    cut = first_cut(timeline, stream_time_us)
    reference_us = stream_time_us if cut is None else min(stream_time_us, cut.effective_from_us)
    horizon_us = reference_us - HISTORY_US
    older = sum(1 for row in timeline if row.effective_from_us < horizon_us)
    dropped = older - ROWS_BEFORE_HISTORY
    return timeline[dropped:] if dropped > 0 else timeline


def prior_price(timeline: Timeline, effective_at_us: int, *, progressive: bool) -> int | None:
    """Return the lowest price in force in [end - 30 d, end) before a reduction (domain.md 6.2).

    `end` is `effective_at_us`. With `progressive`, `end` is the time of the first of several price
    cuts in a row (see `first_cut`). None means that no price was in force in the interval.
    """
    end_us = effective_at_us
    if progressive:
        cut = first_cut(timeline, effective_at_us)
        end_us = effective_at_us if cut is None else cut.effective_from_us
    return _lowest_in_force(timeline, end_us - PRIOR_SPAN_US, end_us)


def _lowest_in_force(timeline: Timeline, start_us: int, end_us: int) -> int | None:
    """Return the lowest price in force at any instant of [start, end).

    A row was never in force if a later row has the same `effective_from_us`.
    """
    lowest = None
    replaced_at_us = end_us
    for row in reversed(timeline):
        if max(row.effective_from_us, start_us) < min(replaced_at_us, end_us) and (
            lowest is None or row.price_minor < lowest
        ):
            lowest = row.price_minor
        replaced_at_us = row.effective_from_us
    return lowest


def _order(row: PriceRow) -> tuple[int, int]:
    return row.effective_from_us, row.id
