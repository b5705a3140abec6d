"""Builder of one item's history. Times are hours since a Monday, 00:00 UTC."""

from collections.abc import Mapping
from typing import Any

from analytics.simulation.assumptions import RECORDED, Assumptions
from analytics.simulation.key_history import KeyHistory, key_history
from analytics.simulation.outcome import Outcome
from analytics.simulation.past import past_outcome
from analytics.simulation.placed_orders import Simulated
from analytics.simulation.world import Surroundings, World
from inventory.log.dedupe import Admission
from inventory.model.arithmetic import DAY_US, HOUR_US
from inventory.model.record import Record
from inventory.parameters.overlay import Cell, OverlayRule

KEY = "L|S"
MONDAY_US = 20_458 * DAY_US
POLICY = {
    "status": "active",
    "replenish_family": "sS",
    "reorder_point_units": 4,
    "order_up_to_units": 10,
    "hysteresis_units": 0,
    "lead_time_centidays": 200,
    "cost_minor": 600,
    "supplier": "ACME",
}


def us(hour: int) -> int:
    """Return the time of an hour of the history, in microseconds since 1970 UTC."""
    return MONDAY_US + hour * HOUR_US


class OneKey:
    """Records of one item in the order of the calls."""

    def __init__(
        self, *, policy: Mapping[str, Any] | None = None, opening: int | None = 10
    ) -> None:
        self.records: list[tuple[Record, Admission]] = []
        self._policy: dict[str, Any] = {}
        self.policy(0, **{**POLICY, **(policy or {})})
        if opening is not None:
            self.count(0, opening, kind="opening")

    def policy(self, hour: int, **columns: object) -> None:
        """Insert the policy row, or update it."""
        before = self._policy or None
        self._policy = {"id": 1, **self._policy, **columns}
        self.change("item_location", before, self._policy, hour)

    def count(self, hour: int, units: int, *, kind: str = "cycle") -> None:
        """Approve a count."""
        row = {"units": units, "kind": kind, "status": "approved", "occurred_at": us(hour)}
        self.insert("stock_count", row, hour)

    def sale(self, hour: int, units: int, *, occurred: int | None = None) -> int:
        """Sell `units` at 10.00 each; below 0, take units back. Return the row's id."""
        row = {"source": "till", "source_ref": str(len(self.records)), "quantity_units": units}
        row |= {"amount_minor": units * 1000, "condition": "resaleable"}
        row |= {"occurred_at": us(hour if occurred is None else occurred)}
        return self.insert("sale_line", row, hour)

    def insert(self, table: str, row: Mapping[str, Any], hour: int) -> int:
        """Insert a row and return its id."""
        number = len(self.records) + 100
        self.change(table, None, {"id": number, **row}, hour)
        return number

    def change(self, table: str, before: Any, after: Any, hour: int) -> None:
        """Append the record of a change."""
        at, offset = us(hour), len(self.records)
        old, new = (None if row is None else {"recorded_at": at, **row} for row in (before, after))
        op = "c" if before is None else "d" if after is None else "u"
        record = Record(offset, KEY, table, op, old, new, offset + 1, at)
        self.records.append((record, Admission.NEW))

    def history(self) -> KeyHistory:
        """Return the facts for a simulation."""
        return key_history(KEY, 1, self.records)

    def past(self, end: int) -> Outcome:
        """Return the outcome of history up to hour `end`."""
        return past_outcome(self.history(), Assumptions(demand=RECORDED), us(end))

    def run(
        self,
        end: int,
        assumptions: Assumptions | None = None,
        *,
        experience: Mapping[str, tuple[int, ...]] | None = None,
        where: Mapping[str, Cell] | None = None,
        **changes: Cell,
    ) -> Simulated:
        """Return the simulation of the item with changed parameters up to hour `end`."""
        chosen = assumptions or Assumptions(demand=RECORDED)
        around = Surroundings(chosen, experience or {}, by_transfers=False, end_us=us(end))
        rule = OverlayRule(tuple((where or {}).items()), tuple(changes.items()))
        overlay = (rule,) if changes else ()
        return World(self.history(), overlay, around).run()
