"""The report of a simulation: totals and groups by scenario, for people and for scripts."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from analytics.digest import as_hex
from analytics.simulation.assumptions import Assumptions
from analytics.simulation.groups import DIMENSIONS
from analytics.simulation.outcome import Outcome
from analytics.simulation.scenarios import BASELINE, Scenario
from analytics.simulation.scenarios import HISTORY as PAST
from analytics.simulation.unit_task import UnitSimulated
from cdc.contracts.times import time_text

KIND: Final = "simulation"
SCHEMA: Final = 1
COMPARED: Final = (
    *("fill_permille", "lost_units", "out_of_stock_permille", "out_of_stock_hours"),
    *("stock_minor", "orders", "order_lines", "ordered_units", "margin_minor"),
)


@dataclass(frozen=True, slots=True)
class Report:
    """Outcomes of all scenarios, of the baseline and of history itself.

    `_sums` maps scenario, dimension and value to the outcome of a group of items. With "" as
    dimension and value, it has the outcome of all items.
    """

    name: str
    directory: Path
    scenarios: tuple[Scenario, ...]
    assumptions: Assumptions
    found: UnitSimulated
    _sums: dict[tuple[str, str, str], Outcome] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        for (name, group), outcome in self.found.groups.items():
            for part in (("", ""), *((each, group.of(each)) for each in DIMENSIONS)):
                self._sums.setdefault((name, *part), Outcome()).add(outcome)

    @property
    def digest(self) -> str:
        """Return one digest over the outcomes and orders of all items in all scenarios."""
        return as_hex(self.found.digest)

    @property
    def rows(self) -> tuple[str, ...]:
        """Return the names of history, the baseline and the scenarios, in this order."""
        return (PAST, *(scenario.name for scenario in self.scenarios))

    @property
    def period(self) -> tuple[str, str] | None:
        """Return the first start and last end of the items' periods (UTC); None without items."""
        found = self.found.period
        return None if found is None else (time_text(found[0]), time_text(found[1]))

    @property
    def off_permille(self) -> int:
        """Return the permille of simulated time in which the log's policies allow no reorders."""
        whole_us = self.outcome(PAST).period_us
        return 1000 * self.found.off_us // whole_us if whole_us else 0

    def outcome(self, scenario: str, dimension: str = "", value: str = "") -> Outcome:
        """Return the sums of one scenario, or of one of its groups."""
        return self._sums.get((scenario, dimension, value), Outcome())

    def values(self, dimension: str) -> list[str]:
        """Return the names of the groups of a dimension, sorted."""
        return sorted({group.of(dimension) for _name, group in self.found.groups})

    def groups(self, dimension: str) -> list[dict[str, Any]]:
        """Return the figures of every group and scenario, with differences from the baseline."""
        return [
            {"dimension": dimension, "group": value, "scenario": name}
            | self.figures(name, dimension, value)
            for value in self.values(dimension)
            for name in self.rows
        ]

    def figures(self, name: str, dimension: str = "", value: str = "") -> dict[str, Any]:
        """Return the figures of a scenario or of one of its groups.

        `less_baseline` holds the differences from the baseline, None where a figure is None.
        """
        figures = self.outcome(name, dimension, value).as_json()
        base = self.outcome(BASELINE, dimension, value).as_json()
        differences = {
            column: None
            if None in (figures[column], base[column])
            else figures[column] - base[column]
            for column in COMPARED
        }
        return figures | {"less_baseline": differences}

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object, which the engine writes to `simulation.json`."""
        return {
            "kind": KIND,
            "schema": SCHEMA,
            "simulated": True,
            "simulation": self.name,
            "assumptions": self.assumptions.as_json(),
            "scenarios": [scenario.as_json() for scenario in self.scenarios],
            "outcomes": [{"scenario": name} | self.figures(name) for name in self.rows],
            "groups": [row for dimension in DIMENSIONS for row in self.groups(dimension)],
            "left_out": dict(sorted(self.found.left_out.items())),
            "never_replenished": self.found.never_replenished,
            "replenishment_off_permille": self.off_permille,
            "changed_items": {one.name: self.found.changed[one.name] for one in self.scenarios},
            "period": None
            if self.period is None
            else dict(zip(("from", "to"), self.period, strict=True)),
            "refused_policies": dict(sorted(self.found.problems.items())),
            "history_approval_minutes": self.approval_minutes(),
            "digest": self.digest,
        }

    def approval_minutes(self) -> int | None:
        """Return the median minutes from need to order in history; None if no need was answered."""
        waited = sorted(self.found.answered_minutes.elements())
        return waited[(len(waited) - 1) // 2] if waited else None
