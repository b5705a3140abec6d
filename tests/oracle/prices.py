"""The price timeline of a key (6.1, 6.2, 11.9)."""

from typing import NamedTuple

from tests.oracle.arithmetic import DAY
from tests.oracle.columns import Row


class Price(NamedTuple):
    """One price row. Tuple order is the order of the timeline."""

    at: int
    id: int
    price: int
    step: int
    kind: str


Timeline = list[Price]


def price_of(row: Row) -> Price:
    return Price(row["effective_from"], row["id"], row["price_minor"], row["step"], row["kind"])


def in_force(timeline: Timeline, t: int) -> Price | None:
    return max((row for row in timeline if row.at <= t), default=None)


def step_at(timeline: Timeline, t: int) -> int:
    row = in_force(timeline, t)
    return 0 if row is None else row.step


def first_cut(timeline: Timeline, t: int) -> Price | None:
    """Return the first row of the unbroken run of cuts that ends with the row in force at t.

    Of rows with the same `effective_from`, only the last one has ever been in force.
    """
    lived = {row.at: row for row in sorted(timeline) if row.at <= t}
    past = [lived[at] for at in sorted(lived)]
    found = None
    for earlier, later in zip(reversed(past[:-1]), reversed(past[1:]), strict=True):
        if later.price > earlier.price:
            break
        if later.price < earlier.price:
            found = later
    return found


def prune(timeline: Timeline, stream: int | None) -> Timeline:
    """Return the rows from a limit on, and the two newest rows before the limit.

    The limit is 31 days before the first cut of the present run of cuts (see `first_cut`), or
    31 days before `stream` without such a run.
    """
    rows = sorted(timeline)
    if stream is None:
        return rows
    cut = first_cut(rows, stream)
    edge = (stream if cut is None else min(stream, cut.at)) - 31 * DAY
    older = [row for row in rows if row.at < edge]
    return older[-2:] + [row for row in rows if row.at >= edge]


def lowest_in_force(timeline: Timeline, start: int, end: int) -> int | None:
    """Return the lowest price in force at any instant of [start, end)."""
    instants = [start] + [row.at for row in timeline if start < row.at < end]
    rows = [in_force(timeline, t) for t in instants if t < end]
    return min((row.price for row in rows if row is not None), default=None)


def prior_price(timeline: Timeline, effective_at: int, rule: str) -> int | None:
    """Return the 30-day prior price of a reduction (6.2)."""
    end = effective_at
    if rule == "progressive":
        cut = first_cut(timeline, effective_at)
        end = effective_at if cut is None else cut.at
    return lowest_in_force(timeline, end - 30 * DAY, end)
