"""One key in one shop: tests add facts and read the state and the outputs."""

from typing import Any

from inventory.fold.partition import Partition
from inventory.fold.record import FoldResult
from inventory.model.ids import InvKey
from inventory.model.record import Record
from inventory.model.state import KeyState
from tests.vectors import Product, Seen, Story

POLICY: dict[str, Any] = {
    "replenish_family": "sS",
    "reorder_point_units": 20,
    "order_up_to_units": 60,
    "pack_units": 6,
}


class Shop:
    """A ranged item. Each fact is committed one second after the one before, or at a given time."""

    def __init__(self, *, start: str = "09:00", **policy: object) -> None:
        self.story, self.fold = Story(start=start), Product()
        self.said: list[str] = []
        self.insert("item_location", id=1, **(POLICY | policy))

    def insert(self, table: str, **columns: object) -> Seen:
        return self._tell("insert", table, columns)

    def update(self, table: str, **columns: object) -> Seen:
        return self._tell("update", table, columns)

    def delete(self, table: str, **columns: object) -> Seen:
        return self._tell("delete", table, columns)

    def _tell(self, op: str, table: str, columns: dict[str, object]) -> Seen:
        seen = self.fold.apply(self.story.record({"op": op, "table": table, **columns}))
        self.said += seen.outputs
        return seen

    def count(self, row_id: int, units: int, occurred_at: str, **more: object) -> Seen:
        return self.insert("stock_count", id=row_id, units=units, occurred_at=occurred_at, **more)

    def sell(self, row_id: int, units: int, occurred_at: str, **more: object) -> Seen:
        facts = {"id": row_id, "quantity_units": units, "occurred_at": occurred_at}
        return self.insert("sale_line", **facts, **more)

    def review(self, at: str) -> Seen:
        return self.update("item_location", id=1, reviewed_at=at, commit=at)

    @property
    def state(self) -> KeyState:
        return self.fold.partition.states[InvKey(self.story.key)]

    @property
    def variances(self) -> list[int]:
        return [units for _, units in self.fold.variances(self.story.key)]


def fold_all(records: list[Record]) -> tuple[Partition, list[FoldResult]]:
    partition = Partition(1)
    return partition, [partition.apply(record) for record in records]
