"""The shelf of one simulated item: its log and state, and the rows that differ from history's."""

from typing import Any

from analytics.simulation.key_history import RowId
from analytics.simulation.outcome import Outcome, note_money
from analytics.simulation.simulated_log import Row, SimulatedLog, applied_or_raise
from inventory.model.arithmetic import half_even
from inventory.model.state import KeyState
from inventory.tables.sale_line import TABLE as SALES


class Shelf:
    """Simulated log, rows and outcome of one item.

    `unbooked_units` is the number of units on the shelf that no record explains.
    """

    __slots__ = ("log", "outcome", "rows", "unbooked_units")

    def __init__(self, log: SimulatedLog, unbooked_units: int) -> None:
        self.log = log
        self.outcome = Outcome()
        self.rows: dict[RowId, Row] = {}
        self.unbooked_units = unbooked_units

    @property
    def state(self) -> KeyState:
        """Return the state after the last record.

        Raises:
            ValueError: there was no record.
        """
        state = self.log.state
        if state is None:
            problem = f"{self.log.key}: no record was applied"
            raise ValueError(problem)
        return state

    @property
    def units(self) -> int:
        """Return the units that can leave the shelf."""
        return max(0, self.state.on_hand_units + self.unbooked_units)

    def change(self, identity: RowId, after: Row | None, at_us: int) -> None:
        """Insert, update or delete the row. Do nothing if it exists neither before nor after."""
        before = self.rows.pop(identity, None)
        if after is not None:
            self.rows[identity] = after
        if before is not None or after is not None:
            self.fold(identity[0], before, after, at_us)

    def fold(self, table: str, before: Row | None, after: Row | None, at_us: int) -> None:
        """Write one change to the log and fold it.

        Raises:
            ValueError: the fold rejects the row, which is a defect of the simulation.
        """
        applied_or_raise(self.log.write(table, before, after, at_us), self.log, table)

    def serve(self, row: Row, at_us: int) -> None:
        """Write a sale of estimated demand, with at most the units on the shelf."""
        identity = SALES.name, -self.log.offset
        self.sell(identity, row, min(row["quantity_units"], self.units), at_us)

    def sell(self, identity: RowId, image: Row | None, units: int, at_us: int) -> None:
        """Write the sale line `image`, but with `units` and the amount of money for these units."""
        former = self.rows.get(identity)
        after: dict[str, Any] | None = None
        if image is not None and units:
            amount = half_even(image["amount_minor"] * units, image["quantity_units"])
            after = {**image, "quantity_units": units, "amount_minor": amount}
        self.change(identity, after, at_us)
        sold = units_of(after) - units_of(former)
        self.outcome.sold_units += sold
        paid = minor_of(after) - minor_of(former)
        note_money(self.outcome, self.state.policy, amount_minor=paid, moved_units=sold)


def units_of(line: Row | None) -> int:
    """Return the quantity of a line; 0 if there is no row."""
    return 0 if line is None else int(line["quantity_units"])


def minor_of(line: Row | None) -> int:
    """Return the amount of a line in minor units; 0 if there is no row."""
    return 0 if line is None else int(line["amount_minor"])
