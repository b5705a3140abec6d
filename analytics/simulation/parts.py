"""Per-item rows of a simulation as typed Parquet: outcomes in `keys`, orders in `orders`.

Each table is a directory, into which each task writes one file. The column `simulated` is true in
each row. Ids of needs begin with `SIM:`. The actuator refuses such ids.
"""

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from analytics.simulation.groups import Group
from analytics.simulation.outcome import SUMS
from analytics.simulation.placed_orders import Simulated
from cdc.contracts.decisions import SIMULATED_PREFIX
from cdc.contracts.times import moment_of

KEYS: Final = "keys"
ORDERS: Final = "orders"
_BATCH: Final = 10_000
_MOMENT: Final = pa.timestamp("us", tz="UTC")
_ITEM: Final = (
    ("simulated", pa.bool_()),
    ("scenario", pa.string()),
    ("inv_key", pa.string()),
    ("store", pa.string()),
    ("sku", pa.string()),
)
_DERIVED: Final = ("lost_units", "margin_minor")
SCHEMAS: Final[dict[str, Any]] = {
    KEYS: pa.schema(
        [
            *_ITEM,
            ("supplier", pa.string()),
            ("class", pa.string()),
            *((name, pa.int64()) for name in (*SUMS, *_DERIVED) if name != "keys"),
        ]
    ),
    ORDERS: pa.schema(
        [
            *_ITEM,
            ("need_id", pa.string()),
            ("supplier", pa.string()),
            ("ordered_at", _MOMENT),
            ("arrives_at", _MOMENT),
            ("units", pa.int64()),
            ("cost_minor", pa.int64()),
        ]
    ),
}


class PartWriter:
    """A writer of the two files of one unit. It buffers fewer than 10,000 rows of each."""

    def __init__(self, directory: Path, unit: str) -> None:
        name = unit.replace("/", "-").replace("=", "")
        self._rows: dict[str, list[dict[str, Any]]] = {kind: [] for kind in SCHEMAS}
        self._paths: dict[str, Path] = {}
        self._writers: dict[str, Any] = {}
        for kind, schema in SCHEMAS.items():
            path = self._paths[kind] = directory / kind / f"{name}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            writer = pq.ParquetWriter(_temporary(path), schema, compression="zstd")
            self._writers[kind] = writer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        for kind, path in self._paths.items():
            if failure[0] is not None:
                self._abandon(kind)
                continue
            self._flush(kind)
            self._writers[kind].close()
            # An engine may repeat a task elsewhere; the later file replaces an equal one.
            _temporary(path).replace(path)

    def write(self, scenario: str, key: str, group: Group, simulated: Simulated) -> None:
        """Buffer the outcome of one item and its orders."""
        store, _, sku = key.partition("|")
        item = {"simulated": True, "scenario": scenario, "inv_key": key, "store": store, "sku": sku}
        outcome = simulated.outcome
        sums = {name: getattr(outcome, name) for name in (*SUMS, *_DERIVED)}
        self._take(KEYS, {**item, "supplier": group.supplier, "class": group.kind, **sums})
        for order in simulated.orders:
            row = {
                "need_id": f"{SIMULATED_PREFIX}{order.need_id}",
                "supplier": order.supplier,
                "ordered_at": moment_of(order.ordered_us),
                "arrives_at": moment_of(order.received_us),
                "units": order.units,
                "cost_minor": order.cost_minor,
            }
            self._take(ORDERS, item | row)

    def _abandon(self, kind: str) -> None:
        """Close and delete an unfinished file. Ignore errors: the failure of the unit is raised."""
        with suppress(OSError, pa.ArrowException):
            self._writers[kind].close()
        _temporary(self._paths[kind]).unlink(missing_ok=True)

    def _take(self, kind: str, row: dict[str, Any]) -> None:
        self._rows[kind].append(row)
        if len(self._rows[kind]) >= _BATCH:
            self._flush(kind)

    def _flush(self, kind: str) -> None:
        schema, rows = SCHEMAS[kind], self._rows[kind]
        if rows:
            columns = {name: [row[name] for row in rows] for name in schema.names}
            self._writers[kind].write_table(pa.table(columns, schema=schema))
            self._rows[kind] = []


def _temporary(path: Path) -> Path:
    return path.with_suffix(f".{os.getpid()}.tmp")
