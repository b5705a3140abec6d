"""Find the archived policy rows that an overlay (`inventory.parameters.overlay`) would change.

An overlay sets policy parameters for a run, for example `hysteresis_units = 3` in all rows. This
module folds no record, so it can state the effect before a run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from analytics.archive.checked import checked_content
from analytics.archive.manifest import Manifest
from analytics.engines.selection import Selection
from cdc.contracts.decode import Malformed, decode
from cdc.contracts.topics import STOCK_EVENTS
from inventory.errors import Rejected
from inventory.parameters.overlay import Overlay, applied
from inventory.tables.item_location import TABLE, parse_policy

_COLUMNS: Final = ["offset", "key", "value"]

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class OverlayEffect:
    """Counts of the archived policy rows that an overlay changes, and of their keys.

    `rows` counts all archived policy rows, `rows_changed` those with a changed parameter, and
    `keys_changed` the keys of changed rows. `problem` is a message about the first changed row that
    is no valid policy (domain.md 2.6), or "". The rules would refuse this row and keep its key's
    former policy.
    """

    rows: int
    rows_changed: int
    keys_changed: int
    problem: str

    def as_json(self) -> dict[str, Any]:
        """Return the numbers of rows, changed rows and changed keys, as a JSON object."""
        return {
            "policy_rows": self.rows,
            "policy_rows_changed": self.rows_changed,
            "keys_changed": self.keys_changed,
        }


def effect_of(
    manifest: Manifest, ends: Mapping[int, int], overlay: Overlay, selection: Selection
) -> OverlayEffect:
    """Return the effect of the changed parameters in `overlay` on the policy rows before `ends`.

    Raises:
        BrokenArchive: a file is missing or differs from the manifest.
    """
    rows, changed, keys, problem = 0, 0, set[bytes](), ""
    for position, key, image in policy_images(manifest, ends):
        if not selection.has_key(key):
            continue
        rows += 1
        after = applied(image, overlay)
        if after == image:
            continue
        changed += 1
        keys.add(key)
        problem = problem or _problem(position, key, image, after)
    return OverlayEffect(rows, changed, len(keys), problem)


def policy_images(
    manifest: Manifest, ends: Mapping[int, int]
) -> Iterator[tuple[str, bytes, dict[str, object]]]:
    """Go through the partitions, and yield position, key and columns of each archived policy row.

    Skip rows at or after the end offset of their partition (`ends`). A position is a text such
    as `stock.events[3]@1200`.
    """
    for number, end in sorted(ends.items()):
        for file in manifest.files(number):
            if file.first_offset >= end:
                break
            content = pa.BufferReader(checked_content(manifest.storage, file.source))
            chosen = pq.read_table(content, columns=_COLUMNS, filters=[("table", "=", TABLE.name)])
            for row in chosen.to_pylist():
                image = _image(row["key"], row["value"], row["offset"])
                if image is not None and row["offset"] < end:
                    yield f"{STOCK_EVENTS}[{number}]@{row['offset']}", row["key"], image


def _image(key: bytes | None, value: bytes | None, offset: int) -> dict[str, object] | None:
    try:
        after = decode(key, value, offset=offset).after
    except Malformed:
        return None
    return after if isinstance(after, dict) else None


def _problem(position: str, key: bytes, before: Row, after: Row) -> str:
    """Return a message if `before` is a valid policy row and `after` is not, else ""."""
    name = key.decode("utf-8", "replace")
    try:
        parse_policy(name, before)
    except Rejected:
        return ""
    try:
        parse_policy(name, after)
    except Rejected as error:
        return f"the policy row of {name} at {position} would be refused: {error.detail}"
    return ""
