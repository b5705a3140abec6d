"""All sections of a key in their fixed order; the command line and the item page print these."""

from inventory.explanation.demand import demand_section
from inventory.explanation.lines import Line, Section, Source, note
from inventory.explanation.needs import hold_section, levels_section, quantity_section
from inventory.explanation.price import price_in_force, price_section
from inventory.explanation.stock import StockFacts, stock_section
from inventory.model.price_timeline import PriceRow
from inventory.model.state import KeyState
from inventory.model.value import value


@value
class Provenance:
    """Where a state stands: its place in the log, the rules that made it, how far it reaches.

    A decision carries the policy position: the offset up to which the policy and everything else
    that it was made from was known. That is the position of the state.
    """

    partition: int
    logic_revision: int
    as_of_us: int | None
    policy: Source | None = None
    policy_row_offset: int | None = None  # of the row's last change, as far as it is archived
    decision: Source | None = None  # a person's last word on the need


def explain(
    state: KeyState, facts: StockFacts | None, came_from: Provenance, *, is_whole: bool
) -> tuple[Section, ...]:
    """Stock, demand, levels, quantity, price, hold, and where all of it comes from.

    `facts` None: only the state is at hand. `is_whole`: the state has its window rows.
    """
    return (
        stock_section(state, facts),
        demand_section(state, is_whole=is_whole),
        levels_section(state),
        quantity_section(state),
        price_section(state, is_whole=is_whole),
        hold_section(state, came_from.decision),
        _provenance(state, came_from),
    )


def explain_at(
    facts: StockFacts, price: PriceRow | None, at_us: int, state: KeyState | None = None
) -> tuple[Section, ...]:
    """What the facts of today say of a business time, and what was known and asked for then.

    On-hand and the price in force are true of that time by facts of today, late ones included.
    Demand, levels, quantity and need are history of the state: `state` is a fold of the log up to
    that time, with its window rows. Without it, they are left out.
    """
    price_lines = Section("price", price_in_force(price))
    at = note("business_at_us", at_us)
    if state is None:
        return (stock_section(None, facts), price_lines, Section("source", (at,)))
    return (
        stock_section(None, facts),
        demand_section(state, is_whole=True),
        levels_section(state),
        quantity_section(state),
        price_lines,
        hold_section(state, None),
        Section("source", (at, *_place_of(state))),
    )


def _place_of(state: KeyState) -> tuple[Line, ...]:
    place = state.position
    return (
        note("policy_generation", place.generation),
        note("policy_offset", place.offset),
        note("stream_time_us", state.stream_time_us),
        note("known_on_hand_units", state.on_hand_units),
        note("known_base_position_units", state.base_position_units),
    )


def _provenance(state: KeyState, came_from: Provenance) -> Section:
    place = state.position
    return Section(
        "source",
        (
            note("policy_generation", place.generation),
            note("policy_partition", came_from.partition),
            note("policy_offset", place.offset),
            note("policy_row", None if state.policy is None else "current", "", came_from.policy),
            note("policy_row_offset", came_from.policy_row_offset),
            note("logic_revision", came_from.logic_revision),
            note("stream_time_us", state.stream_time_us),
            note("as_of_us", came_from.as_of_us),
        ),
    )
