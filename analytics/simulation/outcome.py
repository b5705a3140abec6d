"""The result of one key, or of many, in one scenario. All sums are integers."""

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Final

from inventory.model.arithmetic import HOUR_US, day_of, half_even
from inventory.model.policy import ItemLocation

NET_BP: Final = 10_000


@dataclass(slots=True)
class Outcome:
    """Sums of demand, orders, money and time.

    - `stock_units` and `stock_minor`: average stock of each key in its own period, added over keys
    - `out_us`: time in which on-hand was 0 or less
    - `wanted_units`: demand by sales and by transfers to other locations, plus `estimated_units`
    - `orders`: one entry for each location, supplier and UTC day with an order
    """

    keys: int = 0
    period_us: int = 0
    out_us: int = 0
    stock_units: int = 0
    stock_minor: int = 0
    wanted_units: int = 0
    estimated_units: int = 0
    sold_units: int = 0
    order_lines: int = 0
    ordered_units: int = 0
    received_units: int = 0
    revenue_minor: int = 0
    cost_minor: int = 0
    refused_policies: int = 0
    orders: set[tuple[str, str, int]] = field(default_factory=set)  # location, supplier, day

    @property
    def lost_units(self) -> int:
        """Return the units that were wanted and not sold."""
        return self.wanted_units - self.sold_units

    @property
    def fill_permille(self) -> int | None:
        """Return units sold per thousand wanted, rounded down; None without demand."""
        return 1000 * self.sold_units // self.wanted_units if self.wanted_units else None

    @property
    def out_permille(self) -> int | None:
        """Return the permille of simulated time without stock; None without simulated time."""
        return 1000 * self.out_us // self.period_us if self.period_us else None

    @property
    def margin_minor(self) -> int:
        """Return revenue without tax minus the cost of the units sold."""
        return self.revenue_minor - self.cost_minor

    def add(self, other: "Outcome") -> None:
        """Add the outcome of other keys."""
        for name in SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.orders |= other.orders

    def as_json(self) -> dict[str, Any]:
        """Return the figures as a JSON object."""
        return {
            "fill_permille": self.fill_permille,
            "out_of_stock_hours": self.out_us // HOUR_US,
            "out_of_stock_permille": self.out_permille,
            "lost_units": self.lost_units,
            "orders": len(self.orders),
            "margin_minor": self.margin_minor,
            **{name: getattr(self, name) for name in SUMS if name not in _TIMES},
        }


SUMS: Final = tuple(each.name for each in fields(Outcome) if each.name != "orders")
_TIMES: Final = ("period_us", "out_us")


def total(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the sums of all outcomes."""
    found = Outcome()
    for outcome in outcomes:
        found.add(outcome)
    return found


class Meter:
    """A meter of stock over time, from the start of a key's period to its end."""

    __slots__ = ("_at_us", "_cost_minor", "_minor_us", "_on_hand_units", "_start_us", "_unit_us")

    def __init__(self, start_us: int, on_hand_units: int, policy: ItemLocation | None) -> None:
        self._start_us = self._at_us = start_us
        self._unit_us = self._minor_us = 0
        self.note(on_hand_units, policy)

    def note(self, on_hand_units: int, policy: ItemLocation | None) -> None:
        """Store stock and unit cost after a record."""
        self._on_hand_units = on_hand_units
        self._cost_minor = 0 if policy is None else policy.cost_minor

    def advance(self, at_us: int, outcome: Outcome) -> None:
        """Add the time up to `at_us`, with the stock that was noted last.

        Do nothing if an earlier call has added this time, or if it is before the period's start.
        """
        span_us = at_us - self._at_us
        if span_us <= 0:
            return
        self._at_us = at_us
        if self._on_hand_units <= 0:
            outcome.out_us += span_us
            return
        unit_us = self._on_hand_units * span_us
        self._unit_us += unit_us
        self._minor_us += unit_us * self._cost_minor

    def close(self, at_us: int, outcome: Outcome) -> None:
        """End the period and write its averages into `outcome`."""
        self.advance(at_us, outcome)
        outcome.keys = 1
        outcome.period_us = self._at_us - self._start_us
        if outcome.period_us:
            outcome.stock_units = half_even(self._unit_us, outcome.period_us)
            outcome.stock_minor = half_even(self._minor_us, outcome.period_us)


def note_money(
    outcome: Outcome, policy: ItemLocation | None, *, amount_minor: int, moved_units: int
) -> None:
    """Add revenue without tax, and the cost of the units that left the shelf."""
    tax_bp, cost_minor = (0, 0) if policy is None else (policy.tax_bp, policy.cost_minor)
    outcome.revenue_minor += half_even(amount_minor * NET_BP, NET_BP + tax_bp)
    outcome.cost_minor += moved_units * cost_minor


def note_order(outcome: Outcome, location: str, supplier: str, at_us: int, units: int) -> None:
    """Count one order line. Lines of a location, supplier and UTC day form one order."""
    outcome.order_lines += 1
    outcome.ordered_units += units
    outcome.orders.add((location, supplier, day_of(at_us)))
