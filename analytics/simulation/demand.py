"""Estimate the demand at times without stock, from the demand rate that the fold had computed.

While the shelf was empty, the log shows no demand. The estimate is this rate times the time without
stock. Each time the sum of these products passes a whole unit, one unit of demand is added.
The true demand is unknown. So a simulation can also use recorded demand alone, which is a lower
bound.
"""

from collections.abc import Generator, Iterator
from dataclasses import dataclass

from analytics.simulation.key_history import Event, KeyHistory
from inventory.model.arithmetic import DAY_US, ceil_div
from inventory.model.policy import ItemLocation
from inventory.replenishment.levels import demand_micro
from inventory.tables.sale_line import TABLE as SALES

_UNIT = 1_000_000 * DAY_US  # one unit, as rate (millionths of a unit a day) times microseconds


@dataclass(frozen=True, slots=True)
class UnseenUnit:
    """One estimated unit, with the price of the last sale before it, or else the regular price."""

    at_us: int
    price_minor: int


@dataclass(frozen=True, slots=True)
class _Stretch:
    """The time between two records, with policy, demand rate and stock during it."""

    start_us: int
    end_us: int
    policy: ItemLocation | None
    rate_micro: int
    shelf_units: int
    price_minor: int

    @property
    def lacks_stock(self) -> bool:
        """Return True if the policy is active, demand is above 0, and the shelf is empty."""
        is_sold_here = self.policy is not None and self.policy.status == "active"
        return is_sold_here and self.shelf_units <= 0 < self.rate_micro


def unseen_units(history: KeyHistory, end_us: int) -> Iterator[UnseenUnit]:
    """Yield the estimated units between the start of the period and `end_us`, in time order."""
    carried = 0
    for stretch in _stretches(history, end_us):
        if stretch.lacks_stock:
            carried = yield from _of_stretch(stretch, carried)


def _stretches(history: KeyHistory, end_us: int) -> Iterator[_Stretch]:
    start = history.start
    if start is None:
        return
    policy, at_us = start.policy, history.start_us
    rate = demand_micro(policy, start.demand.rate_micro)
    shelf = start.on_hand_units + history.start_unbooked_units
    price = 0 if policy is None else policy.regular_minor or 0
    for event in history.events:
        yield _Stretch(at_us, event.at_us, policy, rate, shelf, price)
        policy, at_us, rate = event.policy, event.at_us, event.rate_micro
        shelf = event.on_hand_units + event.unbooked_units
        price = _price_after(event, price)
    yield _Stretch(at_us, end_us, policy, rate, shelf, price)


def _of_stretch(stretch: _Stretch, carried: int) -> Generator[UnseenUnit, None, int]:
    """Yield the units of one stretch without stock. Return the remainder, less than one unit.

    `carried` is the remainder of the previous stretch. A remainder is a rate times microseconds:
    `_UNIT` would be one whole unit.
    """
    rate, since_us = stretch.rate_micro, stretch.start_us
    at_us = since_us + ceil_div(_UNIT - carried, rate)
    while at_us <= stretch.end_us:
        yield UnseenUnit(at_us, stretch.price_minor)
        carried, since_us = 0, at_us
        at_us += ceil_div(_UNIT, rate)
    return carried + rate * max(0, stretch.end_us - since_us)


def _price_after(event: Event, price_minor: int) -> int:
    """Return the price of a unit if the record is a sale, else `price_minor`, the price so far."""
    image = event.record.after
    if event.record.table != SALES.name or not isinstance(image, dict):
        return price_minor
    units = image["quantity_units"]
    return image["amount_minor"] // units if units > 0 else price_minor
