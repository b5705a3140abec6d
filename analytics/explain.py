"""`inventory explain`: why is this number what it is? Every fact in order, then every policy term.

Facts come from Postgres, their places in the log from the archive, terms from the state that the
read model shows. The running sum is the count rule read forwards (docs/domain.md 2.4): a count sets
it, a movement in a count's own second is before the count.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Final
from zlib import crc32

import psycopg

from analytics.archive.manifest import Manifest
from analytics.archive.rows import MALFORMED, read
from cdc.contracts.decode import decode
from cdc.contracts.partition import partition_of
from cdc.contracts.state import decode_level
from cdc.settings import Connections
from inventory.policies.explain import Terms, explain_quantity, provenance_terms

_MOVED: Final = """
SELECT at, 'sale_line' AS tab, id, units, what FROM (
    SELECT date_trunc('second', least(occurred_at, recorded_at)) AS at, id,
        CASE WHEN quantity_units > 0 OR condition = 'resaleable' THEN -quantity_units ELSE 0 END
            AS units,
        CASE WHEN quantity_units > 0 THEN 'sale' ELSE 'return, ' || condition END
            || ' ' || source_ref AS what
    FROM retail.sale_line WHERE inv_key = %(key)s) sale
UNION ALL
SELECT date_trunc('second', least(CASE WHEN leg = 'transfer_out' THEN shipped_at
        ELSE received_at END, recorded_at)), 'shipment_line', id,
    CASE WHEN leg = 'transfer_out' THEN -shipped_units ELSE received_units END,
    leg || ' ' || coalesce(transfer_ref, purchase_order_line_id::text, '')
FROM retail.shipment_line WHERE inv_key = %(key)s
    AND ((leg = 'transfer_out' AND status = 'shipped')
        OR (leg <> 'transfer_out' AND status = 'received'))
UNION ALL
SELECT date_trunc('second', least(occurred_at, recorded_at)), 'stock_adjustment', id, CASE
    WHEN reason IN ('found', 'correction_up', 'repair') THEN quantity_units
    WHEN reason IN ('dispose', 'vendor_return_damaged') THEN 0 ELSE -quantity_units END, reason
FROM retail.stock_adjustment WHERE inv_key = %(key)s
UNION ALL
SELECT date_trunc('second', least(occurred_at, recorded_at)), 'stock_count', id, units, kind
FROM retail.stock_count WHERE inv_key = %(key)s AND status = 'approved'
"""
_STATE: Final = """
SELECT state, on_hand_units, on_order_units, allocated_units, generation, partition, "offset",
    logic_revision, as_of_us FROM read_model.stock WHERE inv_key = %s
"""


class UnknownItem(ValueError):
    """Neither a fact nor a state has this key."""


@dataclass(frozen=True, slots=True)
class Step:
    """One fact and the on-hand after it; a count sets on-hand and shows its variance."""

    at: str
    table: str
    id: int
    what: str
    moved_units: int
    variance_units: int | None
    on_hand_units: int
    offsets: tuple[int, ...]  # places of this row's changes in its partition, as far as archived


@dataclass(frozen=True, slots=True)
class Explanation:
    """The steps to a key's on-hand, and the terms of its reorder arithmetic."""

    inv_key: str
    partition: int
    at: str | None
    steps: tuple[Step, ...]
    terms: Terms
    shown: dict[str, Any] | None

    @property
    def on_hand_units(self) -> int:
        """On-hand by the facts."""
        return self.steps[-1].on_hand_units if self.steps else 0

    def as_json(self) -> dict[str, Any]:
        """The explanation for scripts."""
        return {
            "inv_key": self.inv_key,
            "partition": self.partition,
            "at": self.at,
            "on_hand_units": self.on_hand_units,
            "facts": [asdict(step) for step in self.steps],
            "terms": [list(term) for term in self.terms],
            "shown": self.shown,
        }

    def as_text(self) -> str:
        """The explanation for people."""
        return "\n".join(_lines(self))

    __str__ = as_text


def explain(
    sku: str, location: str, at: str | None = None, *, settings: Connections | None = None
) -> Explanation:
    """Explain the on-hand of one item-location, now or at a business time (ISO 8601, UTC).

    Raises:
        UnknownItem: nothing is known of the key, or `at` is no time.
    """
    known = settings or Connections()
    key = f"{location}|{sku}"
    until = _moment(at)
    with psycopg.connect(known.read_database_url.get_secret_value()) as connection:
        facts = connection.execute(_MOVED, {"key": key}).fetchall()
        state = connection.execute(_STATE, (key,)).fetchone()
    if not facts and state is None:
        problem = f"{key!r}: no fact and no state; is the code spelt as it was ranged?"
        raise UnknownItem(problem)
    number = partition_of(key.encode(), known.partitions)
    places = _places(known, key, number)
    wanted = sorted(
        (row for row in facts if until is None or row[0] <= until),
        key=lambda row: (row[0], row[1] == "stock_count", row[2]),
    )
    terms, shown = _terms(state)
    return Explanation(key, number, at, tuple(_steps(wanted, places)), terms, shown)


def _moment(at: str | None) -> datetime | None:
    if at is None:
        return None
    try:
        moment = datetime.fromisoformat(at)
    except ValueError as error:
        problem = f"at: expected ISO 8601, such as 2026-11-21T09:00:00Z, got {at!r}"
        raise UnknownItem(problem) from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _steps(
    facts: Sequence[tuple[Any, ...]], places: dict[tuple[str, int], list[int]]
) -> Iterator[Step]:
    on_hand = 0
    for moment, table, row_id, units, what in facts:
        counted = table == "stock_count"
        variance = units - on_hand if counted else None
        on_hand = units if counted else on_hand + units
        yield Step(
            at=moment.astimezone(UTC).isoformat(),
            table=table,
            id=row_id,
            what=what.strip(),
            moved_units=0 if counted else units,
            variance_units=variance,
            on_hand_units=on_hand,
            offsets=tuple(places.get((table, row_id), ())),
        )


def _places(settings: Connections, key: str, number: int) -> dict[tuple[str, int], list[int]]:
    """Offsets of every archived change of the key's rows."""
    manifest = Manifest(settings.archive_dir)
    encoded = key.encode()
    places: dict[tuple[str, int], list[int]] = {}
    for file in manifest.files(number):
        path = manifest.directory / file.file
        for row in read(path, bucket=crc32(encoded), buckets=1 << 32):
            if row.key != encoded or row.admission == MALFORMED:
                continue
            record = decode(row.key, row.value, offset=row.offset)
            image = record.after if isinstance(record.after, dict) else record.before
            if isinstance(image, dict):
                places.setdefault((record.table, image.get("id", 0)), []).append(row.offset)
    return places


def _terms(state: tuple[Any, ...] | None) -> tuple[Terms, dict[str, Any] | None]:
    if state is None:
        return (), None
    level, _dropped = decode_level(json.dumps(state[0]).encode())
    terms = explain_quantity(
        level.policy,
        (state[1], state[2], state[3]),
        (level.demand.rate_micro, level.demand.mad_micro),
        level.episode,
    )
    shown = {
        "on_hand_units": state[1],
        "position": {"generation": state[4], "partition": state[5], "offset": state[6]},
        "logic_revision": state[7],
        "as_of_us": state[8],
    }
    return (*terms, *provenance_terms(None, state[7], state[8])), shown


def _lines(explanation: Explanation) -> Iterator[str]:
    yield f"{explanation.inv_key} (partition {explanation.partition})"
    for step in explanation.steps:
        moved = "counted" if step.variance_units is not None else f"{step.moved_units:+d}"
        variance = "" if step.variance_units is None else f", variance {step.variance_units:+d}"
        offsets = ",".join(map(str, step.offsets)) or "not archived yet"
        yield (
            f"  {step.at}  {moved:>9}  = {step.on_hand_units:>9}  "
            f"{step.table} {step.id} ({step.what}{variance}) @{offsets}"
        )
    yield f"  on hand by its facts: {explanation.on_hand_units}"
    if explanation.shown is not None:
        yield f"  on hand as shown:     {explanation.shown['on_hand_units']}"
    for name, amount in explanation.terms:
        yield f"  {name:<28} {'-' if amount is None else amount}"
