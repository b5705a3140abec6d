"""Which rows of Postgres the fold did not take, from the list of rejected records.

A rejected insert leaves its row out; a rejected update or delete leaves the row's last applied
image in force (docs/domain.md 11.2). Only reasons that a committed row can meet count here: a
forged or broken record says nothing about a row of the same id, and neither does a second delivery.
A record that was sent again counts by what became of the replay.
"""

import json
from dataclasses import dataclass
from typing import Any, Final

import psycopg

from cdc.contracts.decode import TIMESTAMP_COLUMNS, Malformed, decode
from cdc.contracts.times import moment_of, us_of
from inventory.model.record import Record

_BY_CONTENT: Final = frozenset({"limit", "count_beyond_horizon", "overflow"})
_SELECT: Final = """
SELECT key, value, "offset", reason FROM read_model.rejected r
WHERE (%(location)s::text IS NULL
       OR key IS NULL OR position(convert_to(%(location)s || '|', 'UTF8') IN key) = 1)
  AND NOT EXISTS (SELECT FROM app.rejected_mark m
                  WHERE m.record_id = r.id AND m.action = 'replayed')
ORDER BY partition, "offset"
"""


@dataclass(frozen=True, slots=True)
class Rejections:
    """Rows to leave out, images to put in their place, and how many records were rejected."""

    records: int
    excluded: tuple[tuple[str, int], ...]
    kept: tuple[tuple[str, str], ...]  # table, image as JSON
    sale_lines: int
    by_reason: dict[str, int]

    def parameters(self) -> dict[str, object]:
        """The parameters that the sums take."""
        return {
            "excluded_tables": [table for table, _ in self.excluded],
            "excluded_ids": [row_id for _, row_id in self.excluded],
            "kept_tables": [table for table, _ in self.kept],
            "kept_images": [image for _, image in self.kept],
        }


def read_rejections(connection: psycopg.Connection, location: str | None) -> Rejections:
    """What the rejected records mean for the rows of Postgres."""
    in_force: dict[tuple[str, int], str | None] = {}
    by_reason: dict[str, int] = {}
    rows = connection.execute(_SELECT, {"location": location}).fetchall()
    for key, content, offset, reason in rows:
        by_reason[reason] = by_reason.get(reason, 0) + 1
        record = _judged_by_content(key, content, offset, reason)
        identity = None if record is None else _row_of(record)
        if record is None or identity is None or not _is_current(connection, record):
            continue
        in_force.setdefault(identity, _image(record))
    return Rejections(
        records=len(rows),
        excluded=tuple(in_force),
        kept=tuple((table, image) for (table, _), image in in_force.items() if image is not None),
        sale_lines=sum(table == "sale_line" for table, _ in in_force),
        by_reason=by_reason,
    )


def _judged_by_content(
    key: bytes | None, content: bytes | None, offset: int, reason: str
) -> Record | None:
    if reason not in _BY_CONTENT:
        return None
    try:
        return decode(key, content, offset=offset)
    except Malformed:
        return None


def _row_of(record: Record) -> tuple[str, int] | None:
    image = record.after if isinstance(record.after, dict) else record.before
    if not isinstance(image, dict) or record.table not in TIMESTAMP_COLUMNS:
        return None
    row_id = image.get("id")
    return (record.table, row_id) if isinstance(row_id, int) else None


def _is_current(connection: psycopg.Connection, record: Record) -> bool:
    """Whether Postgres really has what the record says: the same key and the same write."""
    row = _row_of(record)
    if row is None:
        return False
    table, row_id = row
    found = connection.execute(
        f"SELECT inv_key, recorded_at FROM retail.{table} WHERE id = %s",  # noqa: S608 -- a known table
        (row_id,),
    ).fetchone()
    if not isinstance(record.after, dict):
        return found is None
    return found is not None and (
        found[0] == record.key and us_of(found[1]) == record.after.get("recorded_at")
    )


def _image(record: Record) -> str | None:
    """The before-image as Postgres reads it; None for an insert, which left nothing in force."""
    if not isinstance(record.before, dict):
        return None
    columns = TIMESTAMP_COLUMNS[record.table]
    image: dict[str, Any] = {
        name: _iso(content) if name in columns and isinstance(content, int) else content
        for name, content in record.before.items()
    }
    return json.dumps(image)


def _iso(at_us: int) -> str:
    return moment_of(at_us).isoformat()
