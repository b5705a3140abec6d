"""Rows of one partition's fact tables and movements, from its archived records in offset order.

If a row's key changes, the former key's partition gets a delete and the new key's partition an
insert. So each partition is complete by itself. Memory holds the rows of one partition: a few
hundred bytes each.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from operator import attrgetter
from typing import Any

from analytics.history.columns import value_as
from analytics.history.log_tables import FACTS, MOVEMENTS, has_business_time, own_columns
from analytics.history.rows import Row, Rows, RowsInForce
from analytics.history.run_rows import calendar, key_parts
from cdc.contracts.decode import Malformed, decode
from inventory.errors import Rejected
from inventory.fold.effects import approved
from inventory.log.dedupe import Admission
from inventory.log.validation import validate
from inventory.model.fact import Fact
from inventory.model.record import Record
from inventory.tables.captured import TEXT, TIME, CapturedTable
from inventory.tables.sale_line import SaleLine


@dataclass(frozen=True, slots=True)
class _Move:
    """Units that one row moves into or out of stock; for a count, the units that were counted."""

    inv_key: str
    at_us: int
    is_count: bool  # at equal times, other movements come before a count
    id: int
    table: str
    cause: str
    on_hand_units: int
    unavailable_units: int
    partition: int
    offset: int

    @property
    def order(self) -> tuple[str, int, bool, int, str]:
        """Return the sort key: by key, then by business time; at equal times a count comes last."""
        return self.inv_key, self.at_us, self.is_count, self.id, self.table


@dataclass(slots=True)
class PartitionFacts:
    """The rows in force of one partition, updated record by record."""

    partition: int
    _rows: dict[str, RowsInForce] = field(default_factory=dict)
    _moves: dict[tuple[str, int], _Move] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._rows = {name: RowsInForce(table) for name, (_captured, table) in FACTS.items()}

    def take(self, offset: int, key: bytes | None, value: bytes | None) -> None:
        """Apply a record with the dedupe verdict `new`. Ignore a record that a rule refuses."""
        try:
            record = decode(key, value, offset=offset)
            change = validate(record, Admission.NEW, is_known_key=False)
        except (Malformed, Rejected):
            return
        if record.table not in self._rows:
            return
        fact = change.after
        if fact is None:
            self._remove(record, change.before)
            return
        self._rows[record.table].put(fact.id, _fact_row(record, fact, self.partition))
        move = _move(record, fact, self.partition)
        if move is None:
            self._moves.pop((record.table, fact.id), None)
        else:
            self._moves[record.table, fact.id] = move

    def tables(self) -> Iterator[tuple[str, Any]]:
        """Yield name and Arrow table of each fact table and of the movements."""
        for name, (_captured, table) in FACTS.items():
            yield table.name, self._rows[name].arrow()
        yield MOVEMENTS.name, Rows(MOVEMENTS, movement_rows(self._moves.values())).arrow()

    def _remove(self, record: Record, before: Fact | None) -> None:
        if before is not None:
            self._rows[record.table].remove(before.id)
            self._moves.pop((record.table, before.id), None)


def movement_rows(moves: Iterable[_Move]) -> Iterator[Row]:
    """Yield the movements of all keys in business order, with on-hand after each.

    On-hand is the last count plus the movements after it (domain.md 2.4). In business order this is
    one step per row: a count sets on-hand, a movement adds to it.
    """
    ranked = sorted(moves, key=attrgetter("order"))
    inv_key, on_hand, is_known = "", 0, False
    for move, later in pairwise((*ranked, None)):
        assert move is not None  # noqa: S101 -- only the last element is None, for mypy
        if move.inv_key != inv_key:
            inv_key, on_hand, is_known = move.inv_key, 0, False
        delta = move.on_hand_units - on_hand if move.is_count else move.on_hand_units
        on_hand, is_known = on_hand + delta, is_known or move.is_count
        follows = later is not None and later.inv_key == inv_key
        yield (
            *key_parts(inv_key),
            move.at_us,
            later.at_us if later is not None and follows else None,
            move.table,
            move.id,
            move.cause,
            delta,
            move.unavailable_units,
            on_hand,
            is_known,
            move.partition,
            move.offset,
        )


def _move(record: Record, fact: Fact, partition: int) -> _Move | None:
    count = approved(fact)
    if count is not None:
        position = (partition, record.offset)
        kind = (record.table, count.kind, count.units, 0)
        return _Move(record.key, count.at_us, True, count.id, *kind, *position)  # noqa: FBT003 -- a field
    effect = fact.effect(1)
    if effect is None or not (effect.moved_units or effect.unavailable_units):
        return None
    return _Move(
        inv_key=record.key,
        at_us=effect.at_us,
        is_count=False,
        id=fact.id,
        table=record.table,
        cause=_cause(record, fact),
        on_hand_units=effect.moved_units,
        unavailable_units=effect.unavailable_units,
        partition=partition,
        offset=record.offset,
    )


def _cause(record: Record, fact: Fact) -> str:
    """Return the cause of a movement.

    It is `sale` or `return` for a sale line. For other rows it is the reason, or the leg of a
    shipment (such as `transfer_in`), or else the name of the table.
    """
    if isinstance(fact, SaleLine):
        return "sale" if fact.quantity_units > 0 else "return"
    image = record.after if isinstance(record.after, Mapping) else {}
    return str(image.get("reason") or image.get("leg") or record.table)


def _fact_row(record: Record, fact: Fact, partition: int) -> Row:
    captured, _table = FACTS[record.table]
    image = record.after if isinstance(record.after, Mapping) else {}
    own = (value_as(kind, image.get(name)) for name, kind in own_columns(captured))
    written = (value_as(TIME, image.get("recorded_at")), value_as(TEXT, image.get("recorded_by")))
    return (
        fact.id,
        *key_parts(record.key),
        *_business(captured, fact),
        *own,
        *written,
        record.commit_us,
        partition,
        record.offset,
    )


def _business(captured: CapturedTable, fact: Fact) -> Row:
    if not has_business_time(captured):
        return ()
    at_us = fact.business_times()[0]
    return (at_us, *calendar(at_us))
