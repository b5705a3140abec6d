"""Files that the product writes, made from a seeded history.

`python -m tests.golden.files` writes some of them to the golden folder. The lines of a version are
written once and never changed. Only the first frame of a snapshot is kept, because a restore
ignores a snapshot of another format.
"""

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import orjson
from cramjam import zstd

from analytics.archive.names import HEAD, MANIFEST, SOURCE
from analytics.archive.source import write_source_id
from analytics.backfill.plan import PLAN_FILE, make_plan
from analytics.backfill.run import execute, runs_dir
from analytics.backfill.seal import RUN_FILE, RUN_MANIFEST
from analytics.engines.unit import _row, line_of
from cdc.contracts.topic_ids import topic_ids_document
from cdc.contracts.topics import ON_HAND_CHANGELOG, STOCK_EVENTS
from cdc.settings import Connections
from streams.engine.snapshot import _frames, save
from streams.query.answers import Queryable
from tests.analytics.histories import PARTITIONS, archived, generate
from tests.cdc.contract import FILES
from tests.golden.workers import RECORDS
from tests.streams.served import Worker, stocked

IDS = {STOCK_EVENTS: "U0t5n8bqQZ6Y3dM0Hc1x2A", ON_HAND_CHANGELOG: "b2m1V0p9S7qkT4wX8yZ3Lg"}
NUMBER = 4  # a partition that has keys


def kept_in_files(home: Path) -> Iterator[tuple[str, bytes]]:
    """Yield kind and content of each document of an archive, a run and a worker below `home`."""
    yield "topic_ids", json.dumps(topic_ids_document(IDS)).encode()
    settings = Connections(home=home, partitions=PARTITIONS)
    settings.archive_dir.mkdir(parents=True)
    write_source_id(settings.archive_dir, IDS[STOCK_EVENTS])
    yield "archive_source", (settings.archive_dir / SOURCE).read_bytes()
    manifest = archived(settings.archive_dir, generate(seed=2))
    yield from lines("archive_file", settings.archive_dir / MANIFEST)
    yield "archive_head", (settings.archive_dir / HEAD).read_bytes()
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    report = execute(make_plan(manifest, engine="local", ends=ends), runs_dir(settings))
    yield "plan", (report.directory / PLAN_FILE).read_bytes()
    yield from lines("run_unit", report.directory / RUN_MANIFEST)
    yield "run", (report.directory / RUN_FILE).read_bytes()
    yield "snapshot", next(iter(snapshot_frames(home)))


def lines(kind: str, file: Path) -> Iterator[tuple[str, bytes]]:
    for line in file.read_bytes().splitlines():
        yield kind, line


def snapshot_frames(directory: Path) -> list[bytes]:
    """Return the frames of a worker's snapshot as stored on disk."""

    async def worked() -> Queryable:
        worker = Worker("worker-1", stocked())
        await worker.take([NUMBER])
        await worker.work()
        return worker

    owned = asyncio.run(worked()).ownership.ready[NUMBER]
    owned.topic_ids = dict(IDS)
    with save(owned, directory / "snapshots").open("rb") as file:
        return list(_frames(file))


def ring_of(frames: list[bytes]) -> list[object]:
    """Return the members of the dedupe ring in a snapshot."""
    members: list[object] = orjson.loads(bytes(zstd.decompress(frames[1])))
    return members


def documents_of(frames: list[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield key and state of every entry at rest in a snapshot."""
    for keys, payload in list(pairwise(frames[2:]))[::2]:
        yield from zip(
            orjson.loads(keys), bytes(zstd.decompress(payload)).split(b"\n"), strict=True
        )


def plain(kind: str, content: bytes) -> bytes:
    """Return the document in one line. A `run_unit` gets a new checksum for its replaced paths."""
    document = json.loads(content)
    if kind == "run_unit":
        return line_of(_row(document))
    return json.dumps(document).encode()


def main() -> None:
    """Write the files of a version that has none yet."""
    found: dict[str, list[bytes]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as home:
        for kind, content in kept_in_files(Path(home)):
            found[kind].append(plain(kind, content.replace(home.encode(), b"/srv/stock")))
    for kind, counter in FILES.items():
        version = json.loads(found[kind][0])[counter]
        file = RECORDS / f"v{version}" / f"{kind}.jsonl"
        if not file.exists():
            file.parent.mkdir(exist_ok=True)
            file.write_bytes(b"".join(line + b"\n" for line in found[kind][:6]))


if __name__ == "__main__":
    main()
