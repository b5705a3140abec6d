"""`inventory bench policy`: the business result of each replenishment policy over a year.

Every policy gets the same demand, item by item; no service is needed. Decisions come from the fold
that the workers run, so a change of rules shows its effect here.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bench.policy_demand import CLASSES, items, year_of
from bench.policy_rules import HOLDING_PERMILLE, ORDER_COST_MINOR, RULES, common
from bench.policy_trial import PolicyTrial, Year

ALL: Final = "all"
_TITLES: Final = (
    "policy",
    "fill ‰",
    "days short",
    "average stock",
    "orders",
    "written off",
    "margin",
    "after stock and orders",
)


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one policy for one class of items."""

    policy: str
    kind: str
    year: Year

    @property
    def fill_permille(self) -> int:
        """Return the units sold per thousand units that customers wanted."""
        return 1000 * self.year.sold_units // max(1, self.year.wanted_units)

    @property
    def margin_minor(self) -> int:
        """Return the revenue minus the cost of sold units and of written-off units."""
        year = self.year
        return year.revenue_minor - year.cost_minor - year.written_off_minor

    @property
    def result_minor(self) -> int:
        """Return the margin minus two costs: holding the stock on the shelf, and placing orders."""
        year = self.year
        holding = year.stock_minor_days * HOLDING_PERMILLE // 1000 // 365
        return self.margin_minor - holding - year.orders * ORDER_COST_MINOR

    def as_json(self) -> dict[str, Any]:
        """Return every figure as a JSON object."""
        year = self.year
        return {
            "policy": self.policy,
            "class": self.kind,
            "fill_permille": self.fill_permille,
            "wanted_units": year.wanted_units,
            "sold_units": year.sold_units,
            "days_short": year.short_days,
            "average_stock_units": year.stock_unit_days // max(1, year.calendar_days),
            "orders": year.orders,
            "written_off_units": year.written_off_units,
            "revenue_minor": year.revenue_minor,
            "margin_minor": self.margin_minor,
            "result_minor": self.result_minor,
        }

    def as_row(self) -> tuple[str, ...]:
        """Return the figures of the printed table, with money in full currency units."""
        shown = self.as_json()
        return (
            self.policy,
            str(self.fill_permille),
            str(shown["days_short"]),
            str(shown["average_stock_units"]),
            str(shown["orders"]),
            str(shown["written_off_units"]),
            str(self.margin_minor // 100),
            str(self.result_minor // 100),
        )


@dataclass(frozen=True, slots=True)
class Report:
    """The results of all policies, for each class and for all classes together."""

    seed: int
    items: int
    days: int
    results: tuple[Result, ...]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object; equal options give equal results."""
        return {
            "seed": self.seed,
            "items": self.items,
            "days": self.days,
            "results": [result.as_json() for result in self.results],
            "seconds": round(self.seconds, 1),
        }

    def tables(self) -> list[tuple[str, tuple[str, ...], list[tuple[str, ...]]]]:
        """Return one table per class: title, columns, rows."""
        return [
            (
                f"{kind} items" if kind != ALL else "all items",
                _TITLES,
                [result.as_row() for result in self.results if result.kind == kind],
            )
            for kind in (ALL, *CLASSES)
        ]


def run(
    *, seed: int, number: int, days: int, progress: Callable[[str], None] | None = None
) -> Report:
    """Simulate `number` items for `days` days under every policy. Return the results."""
    started = time.monotonic()
    chosen = items(seed, number)
    years = [year_of(seed, item, days) for item in chosen]
    results: list[Result] = []
    for name, rule in RULES.items():
        by_kind = {kind: Year(calendar_days=days) for kind in (ALL, *CLASSES)}
        for item, demand in zip(chosen, years, strict=True):
            policy = {"id": 1} | common(item) | rule(item)
            year = PolicyTrial(seed, item, policy).run(demand)
            by_kind[item.kind].add(year)
            by_kind[ALL].add(year)
        results += [Result(name, kind, year) for kind, year in by_kind.items()]
        if progress is not None:
            progress(f"{name}: {time.monotonic() - started:.0f} s")
    return Report(seed, number, days, tuple(results), time.monotonic() - started)
