"""The complete difference as typed Parquet: `reorders`, `prices` and `groups`.

Differing decisions come before differing explanations. Both are sorted by the absolute difference
in money, largest first. Absent values are null. The terms of an explanation are not in the files:
`--key` prints them.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from analytics.backfill.diff.comparison import Diff
from analytics.backfill.diff.revised import PRICE, REORDER
from analytics.backfill.diff.scratch import COUNTS, SUMS
from analytics.backfill.diff.sides import Sides
from cdc.contracts.times import moment_of

REORDERS: Final = "reorders"
PRICES: Final = "prices"
GROUPS: Final = "groups"
DIGEST: Final = b"inventory.diff_digest"  # key in the metadata of each file
_BATCH_ROWS: Final = 10_000

Columns = tuple[tuple[str, Any], ...]
_MOMENT: Final = pa.timestamp("us", tz="UTC")
_COMMON: Final[Columns] = (
    ("how", pa.string()),
    ("inv_key", pa.string()),
    ("store", pa.string()),
    ("sku", pa.string()),
    ("supplier", pa.string()),
    ("reason", pa.string()),
    ("week", pa.date32()),
    ("as_of", _MOMENT),
    ("partition", pa.int32()),
    ("first_offset", pa.int64()),
)
_COURSE: Final[Columns] = (
    ("id", pa.string()),
    ("status", pa.string()),
    ("closed_by", pa.string()),
    ("opened_offset", pa.int64()),
    ("closed_offset", pa.int64()),
    ("revisions", pa.int32()),
    ("digest", pa.string()),
)
_NEED: Final[Columns] = (
    ("supplier", pa.string()),
    ("quantity_units", pa.int64()),
    ("cost_minor", pa.int64()),
    ("amount_minor", pa.int64()),
    ("base_position_units", pa.int64()),
    ("reorder_point_units", pa.int64()),
    ("order_up_to_units", pa.int64()),
    ("flags", pa.list_(pa.string())),
)
_PROPOSAL: Final[Columns] = (
    ("signal", pa.string()),
    ("old_minor", pa.int64()),
    ("new_minor", pa.int64()),
    ("prior_minor", pa.int64()),
    ("floor_minor", pa.int64()),
    ("regular_minor", pa.int64()),
    ("effective_at", _MOMENT),
    ("clamps", pa.list_(pa.string())),
)
_MOMENTS: Final = frozenset({"as_of", "a_effective_at", "b_effective_at"})


def _sides(columns: Columns) -> Columns:
    return tuple((f"{side}_{name}", kind) for side in "ab" for name, kind in columns)


SCHEMAS: Final = {
    REORDERS: pa.schema(
        [
            *_COMMON,
            *_sides((*_COURSE, *_NEED)),
            *(("delta_units", pa.int64()), ("delta_minor", pa.int64())),
        ]
    ),
    PRICES: pa.schema(
        [*_COMMON, *_sides((*_COURSE, *_PROPOSAL)), ("delta_minor", pa.int64())],
    ),
    GROUPS: pa.schema(
        [
            *((name, pa.string()) for name in ("kind", "dimension", "value")),
            *((name, pa.int64()) for name in (*COUNTS, *SUMS)),
        ]
    ),
}


def write_tables(found: Diff[Sides], directory: Path) -> tuple[Path, ...]:
    """Write the three files into `directory`, which is made if absent. Return their paths.

    Each file replaces an earlier one when it is complete.
    """
    directory.mkdir(parents=True, exist_ok=True)
    rows: dict[str, Iterable[Mapping[str, Any]]] = {
        REORDERS: found.scratch.ranked(REORDER),
        PRICES: found.scratch.ranked(PRICE),
        GROUPS: found.groups,
    }
    return tuple(
        _write(directory / f"{name}.parquet", SCHEMAS[name], rows[name], found.digest)
        for name in SCHEMAS
    )


def _write(path: Path, schema: Any, rows: Iterable[Mapping[str, Any]], digest: str) -> Path:  # noqa: ANN401 -- pyarrow ships no types
    temporary = path.with_suffix(".tmp")
    named = schema.with_metadata({DIGEST: digest.encode()})
    try:
        with pq.ParquetWriter(temporary, named, compression="zstd") as writer:
            for batch in _batches(rows):
                columns = {name: [_cell(row, name) for row in batch] for name in schema.names}
                writer.write_table(pa.table(columns, schema=named))
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)  # don't keep an incomplete file on a full disk
        raise
    return path


def _batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, _BATCH_ROWS)):
        yield batch


def _cell(row: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 -- of the column's type
    """Return a cell as its column's type: rows hold times as microseconds and dates as text."""
    if name == "week":
        return date.fromisoformat(row[name])
    if name not in _MOMENTS:
        return row.get(name)
    at_us = row.get(f"{name}_us")
    return None if at_us is None else moment_of(at_us)
