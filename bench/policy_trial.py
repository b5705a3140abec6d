"""One item's simulated year in one store under one policy. The fold makes every decision.

Each event becomes a record, as if it came from the log. The fold maintains stock, learns demand and
opens needs. The trial orders each need at once and unchanged. So this module contains no rule.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Final

from analytics.simulation.simulated_log import (
    SimulatedLog,
    applied_or_raise,
    order_line_row,
    receipt_row,
    sale_row,
)
from bench.policy_demand import FIRST_DAY, Item, lead_days
from inventory.model.arithmetic import DAY_US, MINUTE_US
from inventory.model.state import KeyState

KEY: Final = "STORE|ITEM"
OPENING_DAYS: Final = 14
REVIEW_MINUTE: Final = 15
DELIVERY_MINUTE: Final = 7 * 60
SALE_MINUTES: Final = (10 * 60, 14 * 60, 18 * 60)
EXPIRY_MINUTE: Final = 21 * 60

Row = dict[str, Any]


@dataclass(slots=True)
class Year:
    """Sums of a year: goods in units, money in minor currency units."""

    calendar_days: int = 0
    wanted_units: int = 0
    sold_units: int = 0
    short_days: int = 0
    stock_unit_days: int = 0
    stock_minor_days: int = 0
    orders: int = 0
    written_off_units: int = 0
    revenue_minor: int = 0
    cost_minor: int = 0
    written_off_minor: int = 0

    def add(self, other: "Year") -> None:
        """Add another item's year; the number of calendar days does not change."""
        for name in SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))


SUMMED: Final = tuple(each.name for each in fields(Year) if each.name != "calendar_days")


@dataclass(slots=True)
class PolicyTrial:
    """One key: its log and state, the lots on its shelf, and its open orders by day of arrival."""

    seed: int
    item: Item
    policy: Row
    log: SimulatedLog = field(default_factory=lambda: SimulatedLog(KEY))
    lots: deque[list[int]] = field(default_factory=deque)  # [day on which the lot expires, units]
    under_way: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    year: Year = field(default_factory=Year)

    @property
    def state(self) -> KeyState | None:
        """Return the item's state; None before its first record."""
        return self.log.state

    def run(self, demand: list[int]) -> Year:
        """Simulate the days and return their sums."""
        self._open()
        for day, wanted in enumerate(demand):
            self._review(day)
            self._receive(day)
            self._sell(day, wanted)
            self._write_off(day)
            units = sum(lot[1] for lot in self.lots)
            self.year.stock_unit_days += units
            self.year.stock_minor_days += units * self.item.cost_minor
        return self.year

    def _open(self) -> None:
        units = -(-self.item.guess_micro * OPENING_DAYS // 1_000_000)
        at = _at(-1, EXPIRY_MINUTE)
        self._write("item_location", None, self.policy, at)
        count = {"id": 1, "units": units, "kind": "opening", "status": "approved"}
        self._write("stock_count", None, count | {"occurred_at": at}, at)
        self._store(-1, units)

    def _review(self, day: int) -> None:
        at = _at(day, REVIEW_MINUTE)
        reviewed = self.policy | {"reviewed_at": at}
        self._write("item_location", self.policy, reviewed, at)
        self.policy = reviewed
        self._order(day, at)

    def _sell(self, day: int, wanted: int) -> None:
        self.year.wanted_units += wanted
        missing = 0
        for minute, units in zip(SALE_MINUTES, _parts(wanted), strict=True):
            sold = self._take(units)
            missing += units - sold
            if sold:
                at = _at(day, minute)
                amount = sold * self.item.price_minor
                self._write("sale_line", None, sale_row(self.log.offset, sold, amount, at), at)
                self._order(day, at)
                self.year.sold_units += sold
                self.year.revenue_minor += amount
                self.year.cost_minor += sold * self.item.cost_minor
        self.year.short_days += missing > 0

    def _order(self, day: int, at: int) -> None:
        """Write an order line for each need that has just opened. The line names the need."""
        while self.log.opened:
            need, line = self.log.opened.pop(), self.log.offset
            units = need.quantity_units or 0
            row = order_line_row(line, need, units, "ACME", at)
            self.year.orders += 1
            arrives = day + lead_days(self.seed, self.item, self.year.orders)
            self.under_way.setdefault(arrives, []).append((line, units))
            self._write("purchase_order_line", None, row, at)

    def _receive(self, day: int) -> None:
        at = _at(day, DELIVERY_MINUTE)
        for line, units in self.under_way.pop(day, []):
            self._write("shipment_line", None, receipt_row(self.log.offset, line, units, at), at)
            self._store(day, units)
            self._order(day, at)

    def _write_off(self, day: int) -> None:
        """Remove expired lots from the shelf, and write an adjustment for them."""
        expired = 0
        while self.lots and self.lots[0][0] <= day:
            expired += self.lots.popleft()[1]
        if expired:
            at = _at(day, EXPIRY_MINUTE)
            row = {"id": self.log.offset, "reason": "waste", "quantity_units": expired}
            self._write("stock_adjustment", None, row | {"occurred_at": at}, at)
            self._order(day, at)
            self.year.written_off_units += expired
            self.year.written_off_minor += expired * self.item.cost_minor

    def _store(self, day: int, units: int) -> None:
        if units:
            life = self.item.life_days
            self.lots.append([10**6 if life is None else day + life, units])

    def _take(self, units: int) -> int:
        """Take units from the oldest lots; return the number taken."""
        missing = units
        while missing and self.lots:
            lot = self.lots[0]
            taken = min(missing, lot[1])
            lot[1] -= taken
            missing -= taken
            if not lot[1]:
                self.lots.popleft()
        return units - missing

    def _write(self, table: str, before: Row | None, after: Row, at: int) -> None:
        """Append and fold a record of `table`. Needs that the fold opens go to `log.opened`."""
        applied_or_raise(self.log.write(table, before, after, at), self.log, table)


def _at(day: int, minute: int) -> int:
    return (FIRST_DAY + day) * DAY_US + minute * MINUTE_US


def _parts(units: int) -> Iterator[int]:
    """Yield a day's demand in three parts, one per busy hour."""
    third = units // len(SALE_MINUTES)
    yield units - 2 * third
    yield third
    yield third
