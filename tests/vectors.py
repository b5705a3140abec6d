"""The worked tables of docs/domain.md for tests, and the two folds that they are run on.

`VECTORS` is tests/data/domain_vectors.toml. A `Story` makes log records of its facts; `Product` and
`Reference` are the two folds that must give the results of the table.
"""

import tomllib
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from cdc.contracts.history import state_document
from inventory.fold.partition import Partition
from inventory.fold.stock import net_between
from inventory.model.arithmetic import DAY_US, HOUR_US, MINUTE_US
from inventory.model.ids import InvKey
from inventory.model.outputs import Output, ReorderOutput
from inventory.model.record import Record
from tests.oracle.partition import Model, state_of
from tests.outcomes import late_of, outputs_of

DATA = Path(__file__).parent / "data" / "domain_vectors.toml"
VECTORS: dict[str, Any] = tomllib.loads(DATA.read_text(encoding="utf-8"))

FIRST_DAY_US = 20_402 * DAY_US  # 2025-11-10, a Monday, 00:00 UTC
Row = dict[str, Any]

_DEFAULTS: dict[str, Row] = {
    "sale_line": {"source": "till", "amount_minor": 0},
    "stock_count": {"kind": "cycle", "status": "approved"},
    "purchase_order_line": {"supplier": "ACME", "status": "sent", "ordered_at": "00:00"},
    "item_location": {"status": "active"},
}
_TIMES = ("occurred_at", "shipped_at", "received_at", "ordered_at", "reviewed_at", "until_at")


def moment(text: str, *, first_day_us: int = FIRST_DAY_US) -> int:
    """Return microseconds since 1970 UTC of "HH:MM[:SS[.f]]". A prefix "5d " adds five days."""
    day, _, clock = text.rpartition(" ")
    hours, minutes, *rest = clock.split(":")
    seconds, _, fraction = (rest[0] if rest else "0").partition(".")
    clock_us = int(hours) * HOUR_US + int(minutes) * MINUTE_US + int(seconds) * 1_000_000
    days = int(day.removesuffix("d")) if day else 0
    return first_day_us + days * DAY_US + clock_us + int(fraction.ljust(6, "0") or 0)


class Story:
    """Facts of one key as records. Each has the next offset, and commits one second later."""

    def __init__(
        self, *, key: str = "L|S", start: str = "12:30", policy: Row | None = None
    ) -> None:
        self.key, self.policy = key, policy or {}
        self.offset, self.commit_us = 0, moment(start)
        self.rows: dict[tuple[str, int], Row] = {}

    def record(self, fact: Row) -> dict[str, Any]:
        """Return the next record in the exchange format."""
        columns = dict(fact)
        op, table = columns.pop("op"), columns.pop("table")
        self.commit_us += 1_000_000
        if "commit" in columns:
            self.commit_us = moment(columns.pop("commit"))
        recorded = columns.pop("recorded", None)
        place = (table, columns["id"])
        before = self.rows.get(place)
        after = None
        if op != "delete":
            after = self._image(table, before, columns)
            after["recorded_at"] = self.commit_us if recorded is None else moment(recorded)
            self.rows[place] = after
        self.offset += 1
        return {
            "offset": self.offset - 1,
            "table": table,
            "op": {"insert": "c", "update": "u", "delete": "d"}[op],
            "key": self.key,
            "before": before if op != "insert" else None,
            "after": after,
            "lsn": 1000 + self.offset,
            "commit_us": self.commit_us,
        }

    def _image(self, table: str, before: Row | None, columns: Row) -> Row:
        if before is None:
            row_id = str(columns["id"])
            start = {"source_ref": row_id} if table == "sale_line" else {}
            start |= {"order_ref": row_id} if table == "purchase_order_line" else {}
            before = start | _DEFAULTS.get(table, {})
        if columns.pop("policy", False):
            columns |= self.policy
        image = {**before, **columns}
        for name in _TIMES:
            if isinstance(image.get(name), str):
                image[name] = moment(image[name])
        return image


class Seen(NamedTuple):
    """Results of one record: outputs as in docs/domain.md, state as in `inventory fold`."""

    verdict: str
    late: list[list[int]]
    outputs: list[str]
    state: dict[str, Any]


class Fold(Protocol):
    """A fold over one partition with one key."""

    def apply(self, record: dict[str, Any]) -> Seen: ...

    def variances(self, key: str) -> list[tuple[int, int]]:
        """Return (second, variance) of each retained count, ordered by business time, then id."""
        ...


class Product:
    """The project's own fold."""

    def __init__(self) -> None:
        self.partition = Partition(1)

    def apply(self, record: dict[str, Any]) -> Seen:
        folded = self.partition.apply(Record(**record))
        state = self.partition.states[InvKey(record["key"])]
        late = late_of(folded)
        told = [] if late is None else [[late.units, late.amount_minor]]
        outputs = [_said(output) for output in outputs_of(folded)]
        return Seen(folded.verdict, told, outputs, state_document(state))

    def variances(self, key: str) -> list[tuple[int, int]]:
        state = self.partition.states[InvKey(key)]
        before, since, found = state.stock.opening_units, None, []
        for count in state.stock.counts:
            expected = before + net_between(state.windows, since, count.at_us)
            found.append((count.at_us, count.units - expected))
            before, since = count.units, count.at_us
        return found


class Reference:
    """The model of tests/oracle."""

    def __init__(self) -> None:
        self.model = Model()

    def apply(self, record: dict[str, Any]) -> Seen:
        line = self.model.apply(record)
        late = [[entry["units"], entry["amount_minor"]] for entry in line["late"]]
        outputs = [
            written(said["id"], said["revision"], said["status"], said.get("q"))
            for said in line["outputs"]
        ]
        return Seen(line["verdict"], late, outputs, state_of(self.model.keys[record["key"]]))

    def variances(self, key: str) -> list[tuple[int, int]]:
        return [(count.at, units) for count, units in self.model.keys[key].ledger.variances()]


FOLDS = (Product, Reference)


def written(name: str, revision: int, status: str, quantity: int | None) -> str:
    """Return an output as docs/domain.md writes it: id, revision, status and quantity."""
    amount = "" if quantity is None else f" {quantity}"
    return f"{name} revision {revision} {status}{amount}"


def _said(output: Output) -> str:
    quantity = output.quantity_units if isinstance(output, ReorderOutput) else None
    return written(output.id, output.revision, output.status, quantity)
