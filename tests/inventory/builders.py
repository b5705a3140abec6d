"""Builders of records with named arguments and simple defaults."""

from dataclasses import dataclass, field
from typing import Any

from inventory.fold.partition import Partition
from inventory.fold.record import FoldResult
from inventory.model.arithmetic import DAY_US, MINUTE_US, SECOND_US
from inventory.model.ids import InvKey
from inventory.model.record import Record
from inventory.model.state import KeyState

KEY = InvKey("LONDON|85123A")
MONDAY_US = 20_402 * DAY_US  # 2025-11-10, 00:00 UTC

Row = dict[str, Any]


def at(clock: str, *, day: int = 0) -> int:
    """Return HH:MM or HH:MM:SS as µs since 1970 UTC, `day` days after Monday 2025-11-10."""
    hours, minutes, *rest = clock.split(":")
    seconds = int(rest[0]) if rest else 0
    since = (int(hours) * 60 + int(minutes)) * MINUTE_US + seconds * SECOND_US
    return MONDAY_US + day * DAY_US + since


def sale(
    row_id: int, units: int, when: int, *, amount: int = 0, condition: str = "resaleable"
) -> Row:
    return {
        "id": row_id,
        "source": "till",
        "source_ref": str(row_id),
        "quantity_units": units,
        "amount_minor": amount,
        "condition": condition,
        "occurred_at": when,
    }


def count(
    row_id: int, units: int, when: int, *, kind: str = "cycle", status: str = "approved"
) -> Row:
    return {"id": row_id, "units": units, "kind": kind, "status": status, "occurred_at": when}


def adjustment(row_id: int, reason: str, units: int, when: int) -> Row:
    return {"id": row_id, "reason": reason, "quantity_units": units, "occurred_at": when}


def order_line(row_id: int, ordered: int, **columns: object) -> Row:
    return {
        "id": row_id,
        "order_ref": f"PO{row_id}",
        "supplier": "ACME",
        "status": "sent",
        "ordered_units": ordered,
        "ordered_at": MONDAY_US,
        **columns,
    }


def shipment(row_id: int, leg: str, status: str, **columns: object) -> Row:
    return {"id": row_id, "leg": leg, "status": status, **columns}


def policy(row_id: int = 1, **columns: object) -> Row:
    return {"id": row_id, "status": "active", **columns}


def price(row_id: int, minor: int, since: int, **columns: object) -> Row:
    base = {"id": row_id, "price_minor": minor, "effective_from": since, "kind": "initial"}
    return {**base, "floor_minor": 1, **columns}


@dataclass
class Log:
    """A partition to which tests append records. Its clock advances one second per record."""

    partition: Partition = field(default_factory=lambda: Partition(1))
    key: str = KEY
    offset: int = 0
    commit_us: int = MONDAY_US
    records: list[Record] = field(default_factory=list)

    def insert(self, table: str, row: Row, **rest: Any) -> FoldResult:
        return self.write(table, "c", None, row, **rest)

    def update(self, table: str, before: Row, after: Row, **rest: Any) -> FoldResult:
        return self.write(table, "u", before, after, **rest)

    def delete(self, table: str, row: Row, **rest: Any) -> FoldResult:
        return self.write(table, "d", row, None, **rest)

    def snapshot(self, table: str, row: Row, **rest: Any) -> FoldResult:
        return self.write(table, "r", None, row, **rest)

    def write(
        self, table: str, op: str, before: Row | None, after: Row | None, **rest: Any
    ) -> FoldResult:
        """Append one record and return its fold result.

        `commit` sets the commit time, `recorded` the time of the write, each in microseconds.
        """
        self.commit_us = rest.get("commit", self.commit_us + SECOND_US)
        recorded = rest.get("recorded", self.commit_us)
        record = Record(
            offset=self.offset,
            key=self.key,
            table=table,
            op=op,
            before=_recorded(before, recorded),
            after=_recorded(after, recorded),
            lsn=rest.get("lsn", 1000 + self.offset),
            commit_us=self.commit_us,
        )
        return self.send(record)

    def send(self, record: Record) -> FoldResult:
        self.records.append(record)
        self.offset = record.offset + 1
        return self.partition.apply(record)

    @property
    def state(self) -> KeyState:
        return self.partition.states[InvKey(self.key)]


def _recorded(image: Row | None, recorded: int) -> Row | None:
    return None if image is None else {"recorded_at": recorded, **image}


def counters(state: KeyState, clock: str, *, day: int = 0) -> tuple[int, ...] | None:
    """Return sold, returned, sale lines, return lines, revenue, late, revision of one window."""
    row = state.windows.get(at(clock, day=day))
    if row is None:
        return None
    return (
        row.sold_units,
        row.returned_units,
        row.sale_lines,
        row.return_lines,
        row.revenue_minor,
        row.late_lines,
        row.window_revision,
    )
