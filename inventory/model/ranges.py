"""The range check of stored integers: ±(2^53 - 1) (domain.md 0, 11.1).

A record with a result outside the range is rejected as `overflow`. Only numbers that the record may
have changed are checked. All other numbers were checked when an earlier record changed them.
"""

from collections.abc import Collection
from dataclasses import fields
from typing import NoReturn

from inventory.errors import OVERFLOW, Rejected, short_text
from inventory.model.arithmetic import MAX_STORED, MIN_STORED
from inventory.model.outputs import Output, PriceOutput, ReorderOutput
from inventory.model.policy import ItemLocation
from inventory.model.state import Demand, KeyState

_POLICY_COLUMNS = tuple(column.name for column in fields(ItemLocation))
_OUTPUT_FIELDS = {
    output: tuple(column.name for column in fields(output))
    for output in (ReorderOutput, PriceOutput)
}


def check_ranges(
    before: KeyState, after: KeyState, changed: tuple[int, ...], outputs: tuple[Output, ...]
) -> None:
    """Check every number of `after` that the record may have changed, and all of `outputs`.

    `changed` are the starts of the changed window rows.

    Raises:
        Rejected: with reason `overflow`.
    """
    has_new_demand = after.demand is not before.demand
    has_new_policy = after.policy is not before.policy
    if after.stock is not before.stock:
        _check_stock(after, changed)
    if (
        has_new_demand
        or has_new_policy
        or outputs
        or after.price_episode is not before.price_episode
    ):
        _check("level", _level_numbers(after))
    if after.stock.counts is not before.stock.counts and after.stock.counts:
        _check("count", (after.stock.counts[-1].at_us,))
    if has_new_demand:
        _check("demand", _demand_numbers(after.demand))
        _check("demand", _demand_numbers(after.final_demand))
    if has_new_policy or after.timeline is not before.timeline:
        _check_reference(after)
    for output in outputs:
        _check("decision", _output_numbers(output))


def _check_stock(after: KeyState, changed: tuple[int, ...]) -> None:
    """Check stock, base position and the window rows that start at `changed`, in one call.

    Nearly every record changes these numbers.
    """
    stock = after.stock
    numbers: tuple[int, ...] = (
        stock.on_hand_units,
        stock.unavailable_units,
        stock.on_order_units,
        stock.in_transit_units,
        stock.sum_movements_units,
        stock.on_hand_units - stock.sum_movements_units,
        stock.shrink_units,
        stock.opening_units,
        after.base_position_units,
    )
    for start_us in changed:
        row = after.windows[start_us]
        numbers = (
            *numbers,
            start_us,
            row.sold_units,
            row.returned_units,
            row.sale_lines,
            row.return_lines,
            row.revenue_minor,
            *row.moves.values(),
        )
    _check("stock", numbers)


def _check_reference(after: KeyState) -> None:
    if after.policy is not None:
        _check("item_location", _policy_numbers(after.policy))
    for row in after.timeline:
        _check("price", (row.effective_from_us, row.step))


def check_time(stream_time_us: int | None) -> None:
    """Check the stream time that a record would set.

    Raises:
        Rejected: with reason `overflow`.
    """
    if stream_time_us is not None and abs(stream_time_us) > MAX_STORED:
        _refuse("stream time", stream_time_us)


def _check(name: str, numbers: Collection[int]) -> None:
    for number in numbers:
        if not MIN_STORED <= number <= MAX_STORED:
            low = min(numbers)
            _refuse(name, low if low < MIN_STORED else max(numbers))


def _refuse(name: str, found: int) -> NoReturn:
    detail = f"{name}: results must lie within ±(2^53 - 1), got {short_text(found)}"
    raise Rejected(OVERFLOW, detail)


def _level_numbers(state: KeyState) -> tuple[int, ...]:
    return (
        state.base_position_units,
        state.safety_stock_units,
        state.reorder_point_units or 0,
        state.order_up_to_units or 0,
        state.episode.until_us or 0,
        state.price_episode.blocked_until_us or 0,
    )


def _demand_numbers(demand: Demand) -> tuple[int, ...]:
    return (
        demand.tsb_p_micro or 0,
        demand.quiet_windows,
        demand.observed_days,
    )


def _policy_numbers(policy: ItemLocation) -> list[int]:
    numbers: list[int] = []
    for column in _POLICY_COLUMNS:
        found = getattr(policy, column)
        if isinstance(found, int):
            numbers.append(found)
        elif isinstance(found, tuple):
            numbers.extend(found)
    return numbers


def _output_numbers(output: Output) -> list[int]:
    found = [getattr(output, name) for name in _OUTPUT_FIELDS[type(output)]]
    return [number for number in found if isinstance(number, int)]
