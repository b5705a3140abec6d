"""A worker writes snapshots every minute and when it stops. A failure doesn't end the worker."""

import asyncio
import itertools
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from streams.engine import snapshot as snapshots
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker
from streams.engine.restore import restore
from streams.engine.snapshot import file_of, prune
from streams.engine.store import OwnedPartition
from streams.worker import snapshot_writer
from streams.worker.snapshot_writer import SnapshotCounts, SnapshotWriter
from tests.streams.lives import GENERATION, PARTITION, Crashes, live, source_of
from tests.streams.test_engine import sold_history


@dataclass
class Owner:
    """A worker's partitions without the worker."""

    broker: MemoryBroker
    ready: dict[int, OwnedPartition] = field(default_factory=dict)

    @classmethod
    def of(cls, records: int) -> "Owner":
        broker = sold_history(records)
        owned = asyncio.run(live(broker, Crashes(), itertools.repeat(99), iter(())))
        return cls(broker, {PARTITION: owned})

    def snapshot_writer(self, directory: Path) -> SnapshotWriter:
        return SnapshotWriter(directory, GENERATION, lambda: self.ready)


def path_in(directory: Path) -> Path:
    return file_of(directory, PARTITION, GENERATION)


def test_a_snapshot_round_writes_files_that_a_restart_reads(tmp_path: Path) -> None:
    owner = Owner.of(30)

    async def restart() -> OwnedPartition:
        await owner.snapshot_writer(tmp_path).write_changed()
        found = await owner.snapshot_writer(tmp_path).find(PARTITION)
        return await restore(PARTITION, GENERATION, owner.broker, found)

    again = asyncio.run(restart())

    assert again.restored_records == 0
    assert again.published == owner.ready[PARTITION].published


def test_a_moved_partition_is_restored_from_the_newest_snapshot_of_any_worker(
    tmp_path: Path,
) -> None:
    broker = sold_history(60)
    source = source_of(broker)
    first, second, new = (tmp_path / name / "snapshots" for name in ("w-1", "w-2", "w-3"))

    async def story() -> tuple[list[int], int]:
        owned = await restore(PARTITION, GENERATION, broker)
        writer, ready = broker.writer(PARTITION), {PARTITION: owned}
        await handle_chunk(source[:20], owned, writer)
        await SnapshotWriter(first, GENERATION, lambda: ready).write_changed()
        await handle_chunk(source[20:40], owned, writer)
        await SnapshotWriter(second, GENERATION, lambda: ready).write_changed()
        os.utime(path_in(first), ns=(1, 1))
        new.mkdir(parents=True)
        other = SnapshotWriter(new, GENERATION, dict, lambda: (first, new, second))
        found = []
        for _ in range(3):
            snapshot = await other.find(PARTITION)
            found.append(0 if snapshot is None else snapshot.progress.next_offset)
            newest = path_in(first) if len(found) > 1 else path_in(second)
            newest.write_bytes(b"garbage")
        return found, other.counts.discarded

    assert asyncio.run(story()) == ([40, 20, 0], 3)


def test_a_snapshot_deleted_after_its_listing_does_not_end_the_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, directories = Owner.of(30), (tmp_path / "w-1", tmp_path / "w-2")

    def listed_before(*_: object) -> list[Path]:
        return [directories[1], directories[0]]

    async def story() -> bool:
        await owner.snapshot_writer(directories[0]).write_changed()
        monkeypatch.setattr(snapshot_writer, "newest_first", listed_before)
        found = await owner.snapshot_writer(directories[1]).find(PARTITION)
        return found is not None

    assert asyncio.run(story())


def test_written_failed_and_discarded_snapshots_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Owner.of(30)

    async def story() -> tuple[SnapshotCounts, SnapshotCounts]:
        snapshot_writer, reader = owner.snapshot_writer(tmp_path), owner.snapshot_writer(tmp_path)
        await snapshot_writer.write_changed()
        path_in(tmp_path).write_bytes(b"garbage")
        await reader.find(PARTITION)
        owner.ready[PARTITION].next_offset += 1
        monkeypatch.setattr("streams.worker.snapshot_writer.write", full)
        await snapshot_writer.write_changed()
        return snapshot_writer.counts, reader.counts

    def full(_snapshot: object, _directory: Path) -> None:
        raise OSError(28, "No space left on device")

    kept, found = asyncio.run(story())

    assert (kept.written, kept.failed, kept.discarded) == (1, 1, 0)
    assert kept.at_s.keys() == {PARTITION}
    assert kept.seconds >= 0
    assert (found.written, found.failed, found.discarded) == (0, 0, 1)


def test_an_unchanged_partition_gets_no_new_snapshot(tmp_path: Path) -> None:
    owner = Owner.of(30)
    snapshot_writer = owner.snapshot_writer(tmp_path)

    async def rounds() -> list[int]:
        inodes = []
        for _ in range(2):
            await snapshot_writer.write_changed()
            inodes.append(path_in(tmp_path).stat().st_ino)
        return inodes

    first, second = asyncio.run(rounds())

    assert first == second


def test_a_stop_writes_snapshots_except_after_a_failed_chunk(tmp_path: Path) -> None:
    owner = Owner.of(30)
    asyncio.run(owner.snapshot_writer(tmp_path / "good").stop(owner.ready.values()))
    owner.ready[PARTITION].in_work = True
    asyncio.run(owner.snapshot_writer(tmp_path / "bad").stop(owner.ready.values()))

    assert path_in(tmp_path / "good").exists()
    assert not (tmp_path / "bad").exists()


def test_a_stop_ends_the_current_snapshot_round_and_still_saves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Owner.of(90)
    snapshot_writer = owner.snapshot_writer(tmp_path)
    monkeypatch.setattr("streams.worker.snapshot_writer.SLICE_S", 0.0)
    begun = asyncio.Event()
    wait = asyncio.sleep

    async def pause(seconds: float) -> None:
        begun.set()
        await wait(seconds)

    async def stop() -> None:
        monkeypatch.setattr("streams.worker.snapshot_writer.asyncio.sleep", pause)
        rounding = asyncio.create_task(snapshot_writer.write_changed())
        await begun.wait()
        await asyncio.gather(snapshot_writer.stop(owner.ready.values()), rounding)

    asyncio.run(stop())

    assert path_in(tmp_path).exists()
    assert owner.ready[PARTITION].freezing == {}


def test_chunks_are_folded_while_a_round_is_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = sold_history(60)
    source = source_of(broker)
    monkeypatch.setattr("streams.worker.snapshot_writer.SLICE_S", 0.0)

    async def both() -> tuple[OwnedPartition, OwnedPartition]:
        owned = await restore(PARTITION, GENERATION, broker)
        writer = broker.writer(PARTITION)
        await handle_chunk(source[:30], owned, writer)
        snapshot_writer = SnapshotWriter(tmp_path, GENERATION, lambda: {PARTITION: owned})
        rounding = asyncio.create_task(snapshot_writer.write_changed())
        for record in source[30:]:
            async with owned.lock:
                await handle_chunk([record], owned, writer)
        await rounding
        found = await snapshot_writer.find(PARTITION)
        return owned, await restore(PARTITION, GENERATION, broker, found)

    owned, again = asyncio.run(both())

    assert again.published == owned.published


@pytest.mark.parametrize("stopping", [True, False])
def test_a_full_disk_is_logged_by_the_snapshot_writer_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stopping: bool
) -> None:
    owner = Owner.of(9)
    snapshot_writer = owner.snapshot_writer(tmp_path)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with capture_logs() as logs:
        every = owner.ready.values()
        asyncio.run(snapshot_writer.stop(every) if stopping else snapshot_writer.write_changed())

    assert [(entry["event"], "No space" in entry["reason"]) for entry in logs] == [
        ("snapshot not written", True)
    ]
    assert list(tmp_path.iterdir()) == []


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(("damage", "reason"), [(cut, "bytes"), (unreadable, "directory")])
def test_a_refused_snapshot_file_is_logged_with_its_reason(
    tmp_path: Path, damage: Callable[[Path], None], reason: str
) -> None:
    owner = Owner.of(9)
    snapshot_writer = owner.snapshot_writer(tmp_path)
    asyncio.run(snapshot_writer.write_changed())
    damage(path_in(tmp_path))

    with capture_logs() as logs:
        assert asyncio.run(snapshot_writer.find(PARTITION)) is None

    assert logs[0]["event"] == "snapshot discarded"
    assert reason in logs[0]["reason"]


def test_snapshot_files_are_limited_in_number_and_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = Owner.of(9)
    path = snapshots.save(owner.ready[PARTITION], tmp_path)
    (tmp_path / "r1-g1-p9.unfinished").touch()
    for number in range(snapshots.MOST_FILES + 3):
        old = tmp_path / f"r0-g1-p{number}.snapshot"
        old.touch()
        os.utime(old, (number, number))

    prune(tmp_path)

    left = sorted(found.name for found in tmp_path.iterdir())
    assert len(left) == snapshots.MOST_FILES
    assert path.name in left
    assert "r0-g1-p3.snapshot" not in left
    assert "r0-g1-p4.snapshot" in left

    monkeypatch.setattr(snapshots, "MOST_BYTES", 100)
    with pytest.raises(snapshots.SnapshotRefused, match="larger than 100"):
        snapshots.save(owner.ready[PARTITION], tmp_path)
    with pytest.raises(snapshots.SnapshotRefused, match="larger than 100"):
        snapshots.load(tmp_path, PARTITION, GENERATION)
