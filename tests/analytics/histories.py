"""Generated histories as the connector writes them, and an archive made of them."""

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from analytics.archive.manifest import Manifest
from analytics.archive.writer import Arrival, PartitionWriter, open_writers
from cdc.contracts.partition import partition_of

PARTITIONS = 3
START = datetime(2026, 3, 1, 8, tzinfo=UTC)
POLICY = {
    "status": "active",
    "clock_mode": "live",
    "replenish_family": "sS",
    "reorder_point_units": 20,
    "order_up_to_units": 60,
    "pack_units": 6,
    "price_mode": "advise",
    "regular_minor": 1000,
    "cost_minor": 500,
    "margin_permille": 200,
}


@dataclass(slots=True)
class Generated:
    """The records of each partition, in order of offset, and the keys of the history."""

    log: dict[int, list[Arrival]] = field(
        default_factory=lambda: {number: [] for number in range(PARTITIONS)}
    )
    keys: set[str] = field(default_factory=set)

    def add(self, key: str | None, value: bytes | None) -> None:
        encoded = None if key is None else key.encode()
        part = self.log[partition_of(encoded or b"", PARTITIONS)]
        part.append(Arrival(len(part), 0, encoded, value))


def generate(
    seed: int, records: int = 400, keys: int = 12, *, heartbeats: bool = False
) -> Generated:
    """Return a seeded history with policies, counts, sales, returns, re-sent and damaged records.

    With `heartbeats`, a heartbeat row follows each of the `records` steps.
    """
    rng = random.Random(seed)  # noqa: S311 -- seeded test data
    history = Generated()
    writer = _Writer(rng, history)
    names = [f"L{number % 3}|S{number}" for number in range(keys)]
    for name in names:
        writer.row("item_location", name, POLICY)
        writer.row("stock_count", name, {"units": 40, "kind": "opening", "status": "approved"})
    for number in range(records):
        writer.step(rng.choice(names))
        if heartbeats:
            writer.row("pipeline_heartbeat", f"~heartbeat|{number % 8}", {"beat": number})
    return history


class _Writer:
    def __init__(self, rng: random.Random, history: Generated) -> None:
        self._rng = rng
        self._history = history
        self._now = START
        self._lsn = 1000
        self._id = 0
        self._sales: list[tuple[str, dict[str, object]]] = []
        self._last: tuple[str, bytes] | None = None

    def step(self, key: str) -> None:
        """Add one record of a random kind; ordinary sales are most frequent."""
        self._now += timedelta(seconds=self._rng.randint(1, 1800))
        draw = self._rng.random()
        if draw < 0.7:
            self._sale(key)
        elif draw < 0.8 and self._sales:
            self._change(self._rng.choice(self._sales))
        elif draw < 0.87 and self._last is not None:
            self._history.add(*self._last)
        elif draw < 0.9:
            self._history.add(key, self._rng.choice([b"\xff\x00", b"{", None]))
        elif draw < 0.95:
            self.row("stock_adjustment", key, {"reason": "found", "quantity_units": 9})
        else:
            self.row("stock_count", key, {"units": 30, "kind": "cycle", "status": "approved"})

    def _sale(self, key: str) -> None:
        quantity = self._rng.choice([1, 1, 2, 3, 5, -1])
        late = timedelta(hours=self._rng.choice([0, 0, 0, 1, 30, 120]))
        image = self.row(
            "sale_line",
            key,
            {
                "source": "till",
                "source_ref": str(self._id),
                "quantity_units": quantity,
                "amount_minor": quantity * 999,
                "condition": "resaleable",
                "occurred_at": _iso(self._now - late),
            },
        )
        self._sales.append((key, image))

    def _change(self, sold: tuple[str, dict[str, object]]) -> None:
        key, before = sold
        self._sales.remove(sold)
        if self._rng.random() < 0.5:
            self._emit("sale_line", "d", key, before, None)
            return
        after = {**before, "quantity_units": 7, "recorded_at": _iso(self._now)}
        self._emit("sale_line", "u", key, before, after)
        self._sales.append((key, after))

    def row(self, table: str, key: str, columns: dict[str, object]) -> dict[str, object]:
        """Insert one row and return its image."""
        self._id += 1
        location, sku = key.split("|")
        image: dict[str, object] = {
            "id": self._id,
            "inv_key": key,
            "location": location,
            "sku": sku,
            "recorded_at": _iso(self._now),
            "recorded_by": None,
        }
        if table != "item_location":
            image["occurred_at"] = _iso(self._now)
        image |= columns
        self._emit(table, "c", key, None, image)
        return image

    def _emit(self, table: str, op: str, key: str, before: object, after: object) -> None:
        self._lsn += self._rng.randint(0, 40)
        at = self._now + timedelta(milliseconds=3)
        source = {"table": table, "lsn": self._lsn, "ts_us": _micros(at)}
        envelope = {"op": op, "before": before, "after": after, "source": source}
        self._last = (key, json.dumps(envelope).encode())
        self._history.keys.add(key)
        self._history.add(*self._last)


def archived(directory: Path, history: Generated, *, roll_every: int = 37) -> Manifest:
    """Write an archive of the complete history. Return its manifest."""
    writers = open_writers(directory, partitions=PARTITIONS, generation=1)
    for writer in writers:
        feed(writer, history.log[writer.partition], roll_every=roll_every)
    return Manifest(directory)


def feed(writer: PartitionWriter, arrivals: Iterable[Arrival], *, roll_every: int) -> None:
    """Archive the arrivals from the writer's next offset on, one file per `roll_every` records."""
    for taken, arrival in enumerate(_from(arrivals, writer.next_offset), start=1):
        writer.take(arrival)
        if taken % roll_every == 0:
            writer.roll()
    writer.roll()


def _from(arrivals: Iterable[Arrival], offset: int) -> Iterator[Arrival]:
    return (arrival for arrival in arrivals if arrival.offset >= offset)


def _iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _micros(at: datetime) -> int:
    return (at - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
