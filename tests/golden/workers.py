"""Records that workers write, folded from seeded histories.

`python -m tests.golden.workers` writes some of them to the golden folder. They are released
records, so every later version of the code must read them. The lines of a version are written once,
at its release, and never changed. Records of state carry the logic revision of their release; tests
replace it by today's revision before they read them.
"""

import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cdc.contracts.decode import TIMESTAMP_COLUMNS
from cdc.contracts.progress import Progress
from cdc.contracts.state import encode_state
from cdc.contracts.topics import STOCK_EVENTS
from inventory.fold.partition import Partition
from inventory.revision import LOGIC_REVISION
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker
from streams.engine.records import SourceRecord
from streams.engine.store import OwnedPartition
from tests.cdc.contract import KINDS, written_parts
from tests.oracle.generate import history
from tests.streams import facts

RECORDS = Path(__file__).parent / "records"
PARTITION, GENERATION = 3, 1
CHUNK = 5
SEEDS = range(60)
_REVISION = re.compile(rb'"logic_revision":\d+,')
KEPT_EACH = 12
LAST_US = (datetime(9999, 12, 31, tzinfo=UTC) - facts.EPOCH) // timedelta(microseconds=1)


def sources(seed: int) -> list[SourceRecord]:
    """Return a seeded history as the connector writes it, an undecodable record and a heartbeat."""
    records = [_source(record) for record in history(seed)]
    last = records[-1].offset
    at_us = facts.DAY_0_US + seed
    beat = facts.heartbeat(number=PARTITION, beat=seed, at_us=at_us)
    change = facts.change("pipeline_heartbeat", after=beat, lsn=1_000_000_000, commit_us=at_us)
    return [
        *records,
        SourceRecord(last + 1, b"L|A", b"\x00poison"),
        SourceRecord(last + 2, f"~heartbeat|{PARTITION}".encode(), change),
    ]


def written(seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield kind and bytes of all records that a worker writes for the history of `seed`."""
    broker = MemoryBroker()
    owned = OwnedPartition(
        PARTITION, Partition(GENERATION), Progress(0, None, None, streamed=False)
    )
    if seed % 2:  # with odd seeds, the progress includes ids of topics
        owned.topic_ids = {STOCK_EVENTS: f"topic-{seed}"}
    asyncio.run(_fold(sources(seed), owned, broker))
    for (topic, _), records in broker.topics.items():
        for record in records:
            yield from written_parts(topic, record.value or b"", record.headers)
    for state in owned.published.values():
        yield "state", encode_state(state)


async def _fold(records: list[SourceRecord], owned: OwnedPartition, broker: MemoryBroker) -> None:
    writer = broker.writer(PARTITION)
    for start in range(0, len(records), CHUNK):
        chunk = records[start : start + CHUNK]
        owned.next_offset = chunk[0].offset  # histories leave holes in the offsets
        await handle_chunk(chunk, owned, writer)


def _source(record: dict[str, Any]) -> SourceRecord:
    table = record["table"]
    source = {
        "schema": "retail",
        "table": table,
        "lsn": record["lsn"],
        "ts_us": record["commit_us"],
    }
    images = {side: _image(table, record[side]) for side in ("before", "after")}
    envelope = {**images, "source": source, "op": record["op"]}
    return SourceRecord(record["offset"], record["key"].encode(), json.dumps(envelope).encode())


def _image(table: str, image: Any) -> Any:
    if not isinstance(image, dict):
        return image
    times = TIMESTAMP_COLUMNS.get(table, ())
    return {name: _time(found) if name in times else found for name, found in image.items()}


def _time(found: Any) -> Any:
    return facts.iso(found) if type(found) is int and 0 <= found <= LAST_US else found


def kept(kind: str, version: int) -> list[bytes]:
    """Return the released records of a kind and version."""
    text = (RECORDS / f"v{version}" / f"{kind}.jsonl").read_text("utf-8")
    return [line.encode() for line in text.splitlines()]


def kept_state(kind: str, version: int) -> list[bytes]:
    """Return the released states of a kind, with the number of today's logic revision."""
    ours = b'"logic_revision":%d,' % LOGIC_REVISION
    return [_REVISION.sub(ours, content) for content in kept(kind, version)]


def main() -> None:
    """Write the file of each kind of record whose present version has none yet."""
    found: dict[str, list[bytes]] = defaultdict(list)
    for seed in SEEDS:
        for kind, content in written(seed):
            found[kind].append(content)
    for kind in KINDS:
        chosen = _diverse(found[kind])
        version = json.loads(chosen[0])["schema"]
        file = RECORDS / f"v{version}" / f"{kind}.jsonl"
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(b"".join(line + b"\n" for line in chosen))


def _diverse(records: Iterable[bytes]) -> list[bytes]:
    """Return a few records with different sets of non-empty fields, for each set the shortest."""
    first: dict[str, bytes] = {}
    for content in sorted(set(records), key=lambda content: (len(content), content)):
        first.setdefault(_sort_of(json.loads(content)), content)
    by_size = sorted(first.values(), key=len)
    step = max(1, len(by_size) // KEPT_EACH)
    return by_size[::step][:KEPT_EACH]


def _sort_of(row: Any) -> str:
    if isinstance(row, dict):
        return "{" + ",".join(_sort_of(row[name]) for name in sorted(row)) + "}"
    if isinstance(row, str) and row.isalpha():
        return row
    return str(bool(row))


if __name__ == "__main__":
    main()
