"""One difference between two runs as a row of plain columns, with a class like `only_a`. No I/O.

A numeric difference is B minus A, with money in minor units. The amount of a need is the quantity
of its last open revision times the unit cost at that time. A price difference is per unit. If only
one run has a price proposal, the old price in the proposal is taken as the other run's price.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from analytics.backfill.diff.pairing import A, B, Course, Pair
from analytics.backfill.diff.reasons import reason_of
from analytics.backfill.diff.revised import REORDER
from analytics.digest import as_hex
from cdc.contracts.decisions import PriceEvent, ReorderEvent
from inventory.model.arithmetic import day_of, weekday_of

ONLY_A: Final = "only_a"
ONLY_B: Final = "only_b"
CHANGED: Final = "changed"  # another quantity, supplier or cost; another new or prior price
COURSE: Final = "course"  # the same result, but opened, amended or closed at other records
EXPLANATION: Final = "explanation"  # equal decisions with other terms, flags or reasons
CLASSES: Final = (ONLY_A, ONLY_B, CHANGED, COURSE, EXPLANATION)
DECISIVE: Final = frozenset({ONLY_A, ONLY_B, CHANGED, COURSE})

Cell = int | str | list[str] | None
Row = dict[str, Cell]
_EPOCH: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class Difference:
    """One need (proposed reorder) or price proposal on which the runs differ.

    `how` is the class of the difference, one of `CLASSES`. `row` has every column.
    """

    kind: str
    how: str
    row: Row

    @property
    def is_decisive(self) -> bool:
        """Return True if the decisions differ, and not only their explanations."""
        return self.how in DECISIVE


def difference(pair: Pair, partition: int) -> Difference | None:
    """Return the difference of a pair, or None if decisions and explanations are equal."""
    how = _class_of(pair)
    known = next((course for course in pair.courses if course is not None), None)
    if how is None or known is None:
        return None
    row = {
        "how": how,
        **_key_columns(pair, known, partition),
        "reason": reason_of(pair),
        **_columns("a_", pair.courses[A]),
        **_columns("b_", pair.courses[B]),
    }
    return Difference(known.first.kind, how, row | _deltas(pair, known.first.kind))


def _deltas(pair: Pair, kind: str) -> Row:
    if kind != REORDER:
        return {"delta_minor": _price_delta(pair)}
    units = [units_of(course) for course in pair.courses]
    amounts = [amount_of(course) for course in pair.courses]
    return {"delta_units": units[B] - units[A], "delta_minor": amounts[B] - amounts[A]}


def monday_of(at_us: int) -> str:
    """Return the Monday of the week that contains `at_us`, in UTC, for example `2026-03-02`."""
    day = day_of(at_us) - weekday_of(at_us)
    return (_EPOCH + timedelta(days=day)).isoformat()


def _class_of(pair: Pair) -> str | None:
    ours, theirs = pair.courses
    if theirs is None:
        return ONLY_A
    if ours is None:
        return ONLY_B
    if pair.decided_offset is None:
        return None if pair.explained_offset is None else EXPLANATION
    return CHANGED if _result(ours) != _result(theirs) else COURSE


def _result(course: Course) -> tuple[object, ...]:
    """Return the result of a need or price proposal, as its last open revision states it.

    For a need: quantity, supplier and unit cost. For a price: new and prior price.
    """
    event = course.shown.event
    if isinstance(event, ReorderEvent):
        return event.output.quantity_units, event.supplier, event.cost_minor
    return event.output.new_minor, event.output.prior_minor


def _key_columns(pair: Pair, known: Course, partition: int) -> Row:
    at = known.first.event.at
    offset = pair.decided_offset
    return {
        "inv_key": at.inv_key,
        "store": at.location,
        "sku": at.sku,
        "supplier": _supplier(pair),
        "week": monday_of(at.as_of_us),
        "as_of_us": at.as_of_us,
        "partition": partition,
        "first_offset": pair.explained_offset if offset is None else offset,
    }


def _supplier(pair: Pair) -> str | None:
    for course in pair.courses:
        event = None if course is None else course.shown.event
        if isinstance(event, ReorderEvent) and event.supplier is not None:
            return event.supplier
    return None


def units_of(course: Course | None) -> int:
    """Return the units that a need (proposed reorder) last asked for; 0 for a price proposal."""
    event = None if course is None else course.shown.event
    return (event.output.quantity_units or 0) if isinstance(event, ReorderEvent) else 0


def amount_of(course: Course | None) -> int:
    """Return `units_of(course)` times the last open revision's unit cost, in minor units."""
    event = None if course is None else course.shown.event
    return units_of(course) * event.cost_minor if isinstance(event, ReorderEvent) else 0


def _price_delta(pair: Pair) -> int:
    ours, theirs = (_prices(course) for course in pair.courses)
    if ours is None or theirs is None:
        old, new = ours or theirs or (0, 0)
        return new - old if ours is None else old - new
    return theirs[1] - ours[1]


def _prices(course: Course | None) -> tuple[int, int] | None:
    event = None if course is None else course.shown.event
    if not isinstance(event, PriceEvent):
        return None
    return event.output.old_minor, event.output.new_minor


def _columns(side: str, course: Course | None) -> Row:
    if course is None:
        return {}
    common: Row = {
        "id": course.first.id,
        "status": course.newest.status,
        "closed_by": course.newest.reason,
        "opened_offset": course.first.offset,
        "closed_offset": course.closed_offset,
        "revisions": course.revisions,
        "digest": as_hex(course.hash),
    }
    return {f"{side}{name}": cell for name, cell in (common | _numbers(course)).items()}


def _numbers(course: Course) -> Row:
    """Return the columns with the values of the last open revision of a need or price proposal."""
    event = course.shown.event
    return _need_numbers(event) if isinstance(event, ReorderEvent) else _price_numbers(event)


def _need_numbers(event: ReorderEvent) -> Row:
    need = event.output
    return {
        "supplier": event.supplier,
        "quantity_units": need.quantity_units,
        "cost_minor": event.cost_minor,
        "amount_minor": (need.quantity_units or 0) * event.cost_minor,
        "base_position_units": need.base_position_units,
        "reorder_point_units": need.reorder_point_units,
        "order_up_to_units": need.order_up_to_units,
        "flags": list(need.flags),
    }


def _price_numbers(event: PriceEvent) -> Row:
    asked = event.output
    return {
        "signal": asked.signal,
        "old_minor": asked.old_minor,
        "new_minor": asked.new_minor,
        "prior_minor": asked.prior_minor,
        "floor_minor": asked.floor_minor,
        "regular_minor": asked.regular_minor,
        "effective_at_us": asked.effective_at_us,
        "clamps": list(asked.clamps),
    }
