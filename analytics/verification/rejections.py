"""Rows of Postgres that the fold did not apply, from the list of rejected records.

A rejected insert leaves its row out; a rejected update or delete leaves the row's last applied
image in force (docs/domain.md 11.2). This module uses only rejections for reasons that a committed
row can have. A forged, broken or duplicate record proves nothing about the row with its id. A
rejected record that a person has replayed is ignored: the replay is a new record with its own
result.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from analytics.verification.cut import Cut
from analytics.verification.in_flight import Image, Moved, Row
from cdc.contracts.decode import TIMESTAMP_COLUMNS, Malformed, decode
from cdc.contracts.rejects import Rejection
from cdc.contracts.times import moment_of, us_of
from inventory.model.record import Record
from inventory.model.windows import horizon_us

_BY_CONTENT: Final = frozenset({"limit", "count_beyond_horizon", "overflow"})
# A row refused for this reason stays in every sum: its first delivery may have been counted.
_TOO_OLD: Final = "before_dedupe_horizon"
_SELECT: Final = """
SELECT key, value, partition, "offset", reason FROM read_model.rejected r
WHERE (%(location)s::text IS NULL
       OR key IS NULL OR position(convert_to(%(location)s || '|', 'UTF8') IN key) = 1)
  AND NOT EXISTS (SELECT FROM app.rejected_mark m
                  WHERE m.record_id = r.id AND m.action = 'replayed')
ORDER BY partition, "offset"
"""

Write = tuple[str, int]  # inv_key, recorded_at
Rejected = tuple[bytes | None, bytes | None, int, int, str]  # the columns of `_SELECT`
Refused = dict[tuple[Row, object], str | None]  # by row and `recorded_at` of a refused image


@dataclass(frozen=True, slots=True)
class Rejections:
    """Rows to leave out, images that replace them, and the number of rejected records.

    `sale_lines` counts committed sale lines whose record was rejected: for its content, or because
    it was too old for the dedupe ring.

    `possibly_doubled` are rows of `stock_count` that may count twice (domain.md 11.4). A change of
    such a row was rejected, so the count from before this change was not retracted. Then the row
    changed again, and its newest count may be in force beside the old one.
    """

    records: int
    excluded: tuple[Row, ...]
    kept: tuple[tuple[str, str], ...]  # table, image as JSON
    sale_lines: int
    by_reason: dict[str, int]
    possibly_doubled: tuple[Row, ...] = ()

    def parameters(self, moved: Mapping[Row, Moved]) -> dict[str, object]:
        """Return the parameters of the sums: rows left out, and images in force instead.

        `moved` are rows that differ between the cut and the snapshot. If such a row is also in
        `excluded`, the rejection takes precedence.
        """
        refused = set(self.excluded)
        others = [(row, one.at_cut) for row, one in moved.items() if row not in refused]
        images = [(row[0], _as_json(row[0], image)) for row, image in others if image is not None]
        excluded = [*self.excluded, *(row for row, _ in others)]
        kept = [*self.kept, *images]
        return {
            "excluded_tables": [table for table, _ in excluded],
            "excluded_ids": [row_id for _, row_id in excluded],
            "kept_tables": [table for table, _ in kept],
            "kept_images": [image for _, image in kept],
        }


def read_rejections(
    connection: psycopg.Connection,
    location: str | None,
    cut: Cut | None = None,
    moved: Mapping[Row, Moved] | None = None,
    more: Iterable[Rejection] = (),
) -> Rejections:
    """Return the rows that sums must leave out or replace, because their records were rejected.

    Only records before `cut` count. If `cut` is None, all rejected records are used.

    `more` are rejected records that the read model doesn't have yet. `moved` are rows that differ
    between the cut and the snapshot.
    """
    in_force: dict[Row, str | None] = {}
    refused: Refused = {}
    sale_lines: set[Row] = set()
    by_reason: dict[str, int] = {}
    possibly_doubled: set[Row] = set()
    rows = _rejected(connection, location, cut, more)
    for key, content, _partition, offset, reason in rows:
        by_reason[reason] = by_reason.get(reason, 0) + 1
        record = _record_of(key, content, offset, reason)
        row = None if record is None else _row_of(record)
        if record is None or row is None:
            continue
        applied = _last_applied(record, row, refused) if reason in _BY_CONTENT else None
        found = _now(connection, row, moved or {})
        if not _is_current(record, found):
            if _is_folded(record, found):
                possibly_doubled.add(row)
            continue
        if reason in _BY_CONTENT:
            in_force.setdefault(row, applied)
        if record.table == "sale_line":
            sale_lines.add(row)
    return Rejections(
        records=len(rows),
        excluded=tuple(in_force),
        kept=tuple((table, image) for (table, _), image in in_force.items() if image is not None),
        sale_lines=len(sale_lines),
        by_reason=by_reason,
        possibly_doubled=tuple(sorted(possibly_doubled)),
    )


def _rejected(
    connection: psycopg.Connection,
    location: str | None,
    cut: Cut | None,
    more: Iterable[Rejection],
) -> list[Rejected]:
    """Return the location's rejected records before the cut, each once. `more` comes last."""
    rows: list[Rejected] = connection.execute(_SELECT, {"location": location}).fetchall()
    places = {(row[2], row[3]) for row in rows}
    prefix = b"" if location is None else f"{location}|".encode()
    for one in more:
        at = one.origin
        if (at.partition, at.offset) not in places and (one.key or prefix).startswith(prefix):
            rows.append((one.key, one.value, at.partition, at.offset, one.reason))
    if cut is None:
        return rows
    return [row for row in rows if cut.holds(_text(row[0]), row[2], row[3])]


def _record_of(key: bytes | None, content: bytes | None, offset: int, reason: str) -> Record | None:
    if reason not in _BY_CONTENT and reason != _TOO_OLD:
        return None
    try:
        return decode(key, content, offset=offset)
    except Malformed:
        return None


def _row_of(record: Record) -> Row | None:
    image = record.after if isinstance(record.after, dict) else record.before
    if not isinstance(image, dict) or record.table not in TIMESTAMP_COLUMNS:
        return None
    row_id = image.get("id")
    return (record.table, row_id) if isinstance(row_id, int) else None


def _now(connection: psycopg.Connection, row: Row, moved: Mapping[Row, Moved]) -> Write | None:
    """Return the row's key and its last write time at the cut; None if the row is deleted."""
    return _written(moved[row].at_cut) if row in moved else _row_in(connection, row)


def _is_current(record: Record, found: Write | None) -> bool:
    """Return True if the row at the cut has the record's key and write time."""
    if not isinstance(record.after, dict):
        return found is None
    return found == (record.key, record.after.get("recorded_at"))


def _is_folded(record: Record, found: Write | None) -> bool:
    """Return True if the before-image is an approved count older than the retained days.

    These days are counted back from the row's last write. By then the fold had replaced such counts
    by `opening_units` and `opening_count` (docs/domain.md 2.4). If the row was deleted, the time of
    its last write is unknown, so return True.
    """
    image = record.before
    if record.table != "stock_count" or not isinstance(image, dict):
        return False
    occurred, recorded = image.get("occurred_at"), image.get("recorded_at")
    if image.get("status") != "approved" or type(occurred) is not int or type(recorded) is not int:
        return False
    horizon_at_us = None if found is None else horizon_us(found[1])
    return horizon_at_us is None or min(occurred, recorded) < horizon_at_us


def _written(image: Image | None) -> Write | None:
    return None if image is None else (image["inv_key"], image["recorded_at"])


def _row_in(connection: psycopg.Connection, row: Row) -> Write | None:
    table, row_id = row
    found = connection.execute(
        f"SELECT inv_key, recorded_at FROM retail.{table} WHERE id = %s",  # noqa: S608 -- a known table
        (row_id,),
    ).fetchone()
    return None if found is None else (found[0], us_of(found[1]))


def _last_applied(record: Record, row: Row, refused: Refused) -> str | None:
    """Return the image that stays in force after a refused record, as JSON; None without one.

    This is the record's before-image. But if the record that wrote this before-image was refused,
    too, the result is the same as for that record. `refused` has the result for each refused
    record, by the row and write time of its after-image. This call adds the result for `record`.
    """
    before, after = record.before, record.after
    applied = _before(record)
    if isinstance(before, dict):
        applied = refused.get((row, before.get("recorded_at")), applied)
    if isinstance(after, dict):
        refused[row, after.get("recorded_at")] = applied
    return applied


def _before(record: Record) -> str | None:
    """Return the before-image as JSON for Postgres; None for an insert, which has none."""
    return _as_json(record.table, record.before) if isinstance(record.before, dict) else None


def _as_json(table: str, content: Image) -> str:
    columns = TIMESTAMP_COLUMNS[table]
    image: dict[str, Any] = {
        name: _iso(cell) if name in columns and isinstance(cell, int) else cell
        for name, cell in content.items()
    }
    return json.dumps(image)


def _iso(at_us: int) -> str:
    return moment_of(at_us).isoformat()


def _text(key: bytes | None) -> str:
    return "" if key is None else key.decode("utf-8", "replace")
