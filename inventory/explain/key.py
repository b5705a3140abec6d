"""The complete explanation of a key: all its sections in a fixed order."""

from inventory.explain.demand import demand_section
from inventory.explain.lines import Line, Section, Source, note
from inventory.explain.needs import hold_section, levels_section, quantity_section
from inventory.explain.price import price_in_force, price_section
from inventory.explain.stock import StockFacts, stock_section
from inventory.model.price_timeline import PriceRow
from inventory.model.state import KeyState
from inventory.model.value import value


@value
class Provenance:
    """The origin of a state, for the last section of its explanation.

    `policy` is the table row of the item's policy. The lines `policy_generation` and
    `policy_offset` show the position of the state's newest record: the state has the policy in
    force at that record. The line `policy_row_offset` shows the last change of the policy's row.
    `as_of_us` is the partition's as-of time, None if it is unknown.
    """

    partition: int
    logic_revision: int
    as_of_us: int | None
    policy: Source | None = None
    policy_row_offset: int | None = None  # offset of the row's last change; None: not archived
    decision: Source | None = None  # table row of a person's latest decision on the need


def explain(
    state: KeyState, facts: StockFacts | None, provenance: Provenance, *, has_windows: bool
) -> tuple[Section, ...]:
    """Return the sections stock, demand, levels, quantity, price, hold and source, in this order.

    `facts` has the key's stock from Postgres' tables, or None if the caller can't read them.
    `has_windows` is True if `state` includes its window rows.
    """
    return (
        stock_section(state, facts),
        demand_section(state, has_windows=has_windows),
        levels_section(state),
        quantity_section(state),
        price_section(state, has_windows=has_windows),
        hold_section(state, provenance.decision),
        _provenance(state, provenance),
    )


def explain_at(
    facts: StockFacts, price: PriceRow | None, at_us: int, state: KeyState | None = None
) -> tuple[Section, ...]:
    """Return the explanation of a key at the business time `at_us` (µs since 1970 UTC).

    `facts` has the stock at that time, and `price` is the price in force then. Both include facts
    that happened before `at_us` but arrived later. The sections demand, levels, quantity and hold
    come from `state`: the key's last state whose stream time was not after `at_us`, with its window
    rows. If `state` is None, these four sections are missing.
    """
    price_lines = Section("price", price_in_force(price))
    at = note("business_at_us", at_us)
    if state is None:
        return (stock_section(None, facts), price_lines, Section("source", (at,)))
    return (
        stock_section(None, facts),
        demand_section(state, has_windows=True),
        levels_section(state),
        quantity_section(state),
        price_lines,
        hold_section(state, None),
        Section("source", (at, *_position_lines(state))),
    )


def _position_lines(state: KeyState) -> tuple[Line, ...]:
    position = state.position
    return (
        note("policy_generation", position.generation),
        note("policy_offset", position.offset),
        note("stream_time_us", state.stream_time_us),
        note("known_on_hand_units", state.on_hand_units),
        note("known_base_position_units", state.base_position_units),
    )


def _provenance(state: KeyState, provenance: Provenance) -> Section:
    position = state.position
    return Section(
        "source",
        (
            note("policy_generation", position.generation),
            note("policy_partition", provenance.partition),
            note("policy_offset", position.offset),
            note("policy_row", None if state.policy is None else "current", "", provenance.policy),
            note("policy_row_offset", provenance.policy_row_offset),
            note("logic_revision", provenance.logic_revision),
            note("stream_time_us", state.stream_time_us),
            note("as_of_us", provenance.as_of_us),
        ),
    )
