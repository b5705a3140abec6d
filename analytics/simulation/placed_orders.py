"""The orders that a simulation places for one key, and the outcome of that key."""

from dataclasses import dataclass, field

from analytics.simulation.outcome import Outcome


@dataclass(frozen=True, slots=True)
class PlacedOrder:
    """An order line of a simulated world. `received_us` may lie after the end of the history."""

    need_id: str
    supplier: str
    ordered_us: int
    received_us: int
    units: int
    cost_minor: int


@dataclass(frozen=True, slots=True)
class Simulated:
    """The outcome of one key in one scenario, with its orders.

    `problem` is the reason why the fold refused a changed policy row, or "". `is_changed` is True
    if the scenario changed a policy row.
    """

    outcome: Outcome
    orders: list[PlacedOrder] = field(default_factory=list)
    problem: str = ""
    is_changed: bool = False
