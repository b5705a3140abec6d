"""Records of `stock.events` as a connector would write them, made without Postgres or Kafka.

Each record contains the complete source block of a real change event, so that its decoding takes as
long as in a stack.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

import orjson

from inventory.model.policy import ItemLocation
from ledger.imports.importer import POLICY
from ledger.imports.retail_file import Line, open_retail_file

Row = dict[str, Any]
Stores = Literal["single", "country"]

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_COMMIT_US: Final = 1_795_000_000_000_000
# Time between two commits. The dedupe ring covers 120 s, so with this gap it holds 120,000 records
# at most. A much smaller gap would exceed the ring's limit of 500,000 records.
_IMPORT_GAP_US: Final = 1_000
_LSN_STEP: Final = 200


# Every column of `item_location` with its default: SQL sets the columns that an insert omits.
_POLICY_COLUMNS: Final[Row] = {
    column.name.removesuffix("_us"): column.default
    for column in fields(ItemLocation)
    if column.name not in ("id", "inv_key")
}


class Event(NamedTuple):
    """Key and value of one record, as the broker delivers them."""

    key: bytes
    value: bytes


def iso(at_us: int) -> str:
    """Return a time as the connector writes it: ISO text in UTC, with microseconds if any."""
    at = _EPOCH + timedelta(microseconds=at_us)
    return at.isoformat().replace("+00:00", "Z")


@dataclass(slots=True)
class Log:
    """A writer of consecutive change events; `now_us` is the commit time of the next one."""

    now_us: int = _FIRST_COMMIT_US
    written: int = 0
    _rows: dict[str, int] = field(default_factory=dict)

    def row(self, table: str, key: str, columns: Row) -> Row:
        """Return a new row of `table`: an id, the columns that all tables have, and `columns`."""
        number = self._rows.get(table, 0) + 1
        self._rows[table] = number
        location, _, sku = key.partition("|")
        return {
            "id": number,
            "inv_key": key,
            "location": location,
            "sku": sku,
            "recorded_at": iso(self.now_us),
            "recorded_by": None,
            **columns,
        }

    def policy(self, key: str, columns: Row) -> Row:
        """Return a new row of `item_location` with all columns."""
        return self.row("item_location", key, {**_POLICY_COLUMNS, **columns})

    def event(self, table: str, before: Row | None, after: Row | None) -> Event:
        """Return the change event from `before` to `after`, committed at `now_us`."""
        image = before if after is None else after
        op = "c" if before is None else "d" if after is None else "u"
        self.written += 1
        lsn = self.written * _LSN_STEP
        envelope = {
            "before": before,
            "after": after,
            "source": _source(table, lsn, self.now_us),
            "transaction": None,
            "op": op,
            "ts_ms": self.now_us // 1_000,
            "ts_us": self.now_us,
            "ts_ns": self.now_us * 1_000,
        }
        key = "" if image is None else image["inv_key"]
        return Event(key.encode(), orjson.dumps(envelope))


def _source(table: str, lsn: int, commit_us: int) -> Row:
    return {
        "version": "3.7.0.Final",
        "connector": "postgresql",
        "name": "retail",
        "ts_ms": commit_us // 1_000,
        "snapshot": "false",
        "db": "retail",
        "sequence": f'["{lsn}","{lsn}"]',
        "ts_us": commit_us,
        "ts_ns": commit_us * 1_000,
        "schema": "retail",
        "table": table,
        "txId": lsn,
        "lsn": lsn,
        "xmin": None,
        "origin": None,
        "origin_lsn": None,
    }


def file_events(path: Path, stores: Stores, limit: int | None) -> Iterator[Event]:
    """Yield the change events of a file import: one policy for each key, then the valid lines."""
    file = open_retail_file(path)
    lines = [row for row in file.rows(stores) if isinstance(row, Line)][:limit]
    source = f"sha256:{file.digest}"
    log = Log()
    for key in dict.fromkeys(f"{line.location}|{line.sku}" for line in lines):
        log.now_us += _IMPORT_GAP_US
        yield log.event("item_location", None, log.policy(key, {**POLICY}))
    for line in lines:
        log.now_us += _IMPORT_GAP_US
        columns = {
            "source": source,
            "source_ref": str(line.row),
            "quantity_units": line.quantity_units,
            "amount_minor": line.amount_minor,
            "condition": "resaleable",
            "occurred_at": line.occurred_at.isoformat().replace("+00:00", "Z"),
        }
        row = log.row("sale_line", f"{line.location}|{line.sku}", columns)
        yield log.event("sale_line", None, row)
