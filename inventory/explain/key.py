"""All sections of a key in fixed order, for the command line and the item page."""

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
    """The log position of a state, the logic revision that made it, and its as-of time.

    A decision carries the policy position: the offset up to which its policy and other inputs were
    known. That is the position of the state.
    """

    partition: int
    logic_revision: int
    as_of_us: int | None
    policy: Source | None = None
    policy_row_offset: int | None = None  # of the policy row's last change, if archived
    decision: Source | None = None  # latest decision on the need by a person


def explain(
    state: KeyState, facts: StockFacts | None, provenance: Provenance, *, has_windows: bool
) -> tuple[Section, ...]:
    """Return stock, demand, levels, quantity, price, need and source of a key.

    `facts` is None if only the state is available. `has_windows` is True if it has its window rows.
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
    """Return the explanation for a business time: stock and price then, and the need known then.

    On-hand and the price in force use the facts of today, late ones included. Demand, levels,
    quantity and need come from `state`: a fold of the log up to that time, with its window rows.
    They are left out if `state` is None.
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
