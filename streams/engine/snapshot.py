"""The snapshot file of a partition, with which a restart reads only the end of the changelogs.

It has the acknowledged state at one moment: all states, the progress and the dedupe ring. For each
changelog it has the offset after the last record that the states include. `load` refuses an invalid
file. `restore` refuses a file that contradicts the changelogs. Without a usable file, the restore
reads the complete changelogs.

The file has a magic line and then frames. A frame is its length (8 bytes), its CRC-32 (4 bytes) and
its content. The first frame is the head, with the number of blocks. The second is the ring. Two
frames follow for each block of `streams.engine.cold`: its keys and its documents.
"""

import os
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson
from cramjam import zstd

from cdc.contracts.progress import Progress
from cdc.contracts.state_documents import SCHEMA as STATE_SCHEMA
from cdc.contracts.topics import STOCK_EVENTS
from cdc.contracts.versions import known
from cdc.disk import sync_directory
from inventory.log.dedupe import Member
from inventory.model.ids import InvKey
from inventory.model.state import KeyState
from inventory.revision import LOGIC_REVISION
from streams.engine.cold import ColdStates
from streams.engine.records import Positions, TopicIds
from streams.engine.store import OwnedPartition

FORMAT: Final = known("snapshot")[-1]
MOST_BYTES: Final = 1 << 30  # a larger file is neither written nor read
MOST_FILES: Final = 48
_SUFFIX: Final = ".snapshot"
_UNFINISHED: Final = ".unfinished"
_MAGIC: Final = b"inventory partition snapshot\n"
_FRAME: Final = struct.Struct(">QI")


class SnapshotRefused(Exception):
    """The file can't be used, for the reason in the message. The restore ignores it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of a file: the acknowledged state of partition `number` at one moment.

    `positions` maps each changelog to the offset after the last record that the state includes.
    `changelog_next_offset` is the next source offset in the newest progress that the level
    changelog has before its offset in `positions`.
    """

    number: int
    generation: int
    positions: Positions
    topic_ids: TopicIds
    changelog_next_offset: int
    progress: Progress
    open_keys: tuple[InvKey, ...]
    ring: tuple[Member, ...]
    cold: ColdStates
    undecodable: tuple[int, ...] = ()
    newest_resent_us: int | None = None  # as in `Ring.newest_resent_us`


def file_of(directory: Path, number: int, generation: int) -> Path:
    """Return the path of a partition's snapshot. Revision and generation are part of the name."""
    return directory / f"r{LOGIC_REVISION}-g{generation}-p{number}{_SUFFIX}"


def snapshot_of(owned: OwnedPartition) -> Snapshot:
    """Return the snapshot of the partition's present state. Call `freeze` directly afterwards.

    The snapshot shares the compressed states `owned.cold`. `freeze` adds to them the states that
    exist only in decoded form.

    Raises:
        RuntimeError: a chunk is being folded or has failed, so the state is not acknowledged.
    """
    if owned.in_work:
        problem = (
            f"partition {owned.number}: a chunk is not acknowledged, so no snapshot was "
            "written; the last file is unchanged"
        )
        raise RuntimeError(problem)
    return Snapshot(
        number=owned.number,
        generation=owned.partition.generation,
        positions=dict(owned.positions),
        topic_ids=dict(owned.topic_ids),
        changelog_next_offset=owned.changelog_next_offset,
        progress=owned.progress(),
        open_keys=tuple(sorted(owned.open_keys)),
        ring=owned.partition.ring.identities(),
        cold=owned.cold,
        undecodable=owned.undecodable.offsets,
        newest_resent_us=owned.partition.ring.newest_resent_us,
    )


def freeze(owned: OwnedPartition) -> Iterator[int]:
    """Compress the changed states into `owned.cold`, and yield the number of keys in each block.

    Call this directly after `snapshot_of`, before another chunk is folded. The call itself chooses
    the states to compress, and drops decoded states that did not change since the last call. The
    iteration then adds block after block to `owned.cold`, and the caller may pause between two
    blocks. If a chunk is folded in a pause, the states that it changes remain decoded.
    """
    # `freezing` may still have keys that an interrupted freeze did not add.
    owned.freezing |= owned.unfrozen
    owned.unfrozen = {}
    states = [owned.published[key] for key in owned.freezing]
    idle = [key for key in owned.states.in_use() if key not in owned.freezing]
    for view in (owned.states, owned.published):
        view.drop_decoded(idle)
    return _freeze(owned, states)


def _freeze(owned: OwnedPartition, states: Iterable[KeyState]) -> Iterator[int]:
    for keys in owned.cold.add(states):
        for view in (owned.states, owned.published):
            view.mark_at_rest(keys)
        for key in keys:
            del owned.freezing[key]
        yield len(keys)
    for keys in owned.cold.add_documents(owned.cold.sparse()):
        yield len(keys)


def save(owned: OwnedPartition, directory: Path) -> Path:
    """Write the partition's snapshot without pauses, for tests and when the worker stops.

    Raises:
        RuntimeError: a chunk is being folded or has failed.
        OSError: the file can't be written; an earlier snapshot is unchanged.
        SnapshotRefused: the file would be larger than `MOST_BYTES`; an earlier snapshot is
            unchanged.
    """
    taken = snapshot_of(owned)
    for _keys in freeze(owned):
        pass
    return write(taken, directory)


def write(snapshot: Snapshot, directory: Path) -> Path:
    """Write the file under a temporary name, sync it to disk, and rename it. Return its path.

    Raises:
        OSError: the file can't be written; an earlier snapshot is unchanged.
        SnapshotRefused: the file would be larger than `MOST_BYTES`; an earlier snapshot is
            unchanged.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = file_of(directory, snapshot.number, snapshot.generation)
    unfinished = path.with_suffix(_UNFINISHED)
    try:
        with unfinished.open("wb") as file:
            _write_frames(snapshot, file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    sync_directory(directory)
    return path


def load(directory: Path, number: int, generation: int) -> Snapshot | None:
    """Return the partition's snapshot, or None if there is no file.

    The checksum of every frame is checked here.

    Raises:
        SnapshotRefused: the file is damaged, incomplete, larger than `MOST_BYTES`, or of another
            partition, generation, logic revision or format.
    """
    path = file_of(directory, number, generation)
    try:
        if path.stat().st_size > MOST_BYTES:
            problem = f"larger than {MOST_BYTES} bytes"
            raise SnapshotRefused(problem)
        with path.open("rb") as file:
            return _decoded(file, number, generation)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SnapshotRefused(str(error)) from error
    except (ValueError, KeyError, TypeError, IndexError, StopIteration, struct.error) as error:
        problem = f"not readable: {error}"
        raise SnapshotRefused(problem) from error


def newest_first(directories: Iterable[Path], number: int, generation: int) -> list[Path]:
    """Return the directories that have a snapshot of the partition, newest file first.

    The result ends with the directories that can't be read, so that `load` reports their errors.
    """
    found: list[tuple[int, Path]] = []
    for directory in directories:
        try:
            written_ns = file_of(directory, number, generation).stat().st_mtime_ns
        except FileNotFoundError:
            continue
        except OSError:
            written_ns = 0
        found.append((written_ns, directory))
    return [directory for _, directory in sorted(found, reverse=True)]


def prune(directory: Path) -> None:
    """Delete unfinished files that a crash left, and all but the newest `MOST_FILES` snapshots.

    Call this while no snapshot is being written. The snapshots that are left may be of partitions
    that moved to other workers. They shorten the restore if such a partition returns.
    """
    for unfinished in directory.glob("*" + _UNFINISHED):
        unfinished.unlink(missing_ok=True)
    found = sorted(directory.glob("*" + _SUFFIX), key=lambda path: path.stat().st_mtime_ns)
    for path in found[: max(0, len(found) - MOST_FILES)]:
        path.unlink(missing_ok=True)


def _write_frames(snapshot: Snapshot, file: BinaryIO) -> None:
    blocks = list(snapshot.cold.blocks.values())
    size = file.write(_MAGIC)
    for content in (
        _head(snapshot, len(blocks)),
        bytes(zstd.compress(orjson.dumps(snapshot.ring))),
    ):
        size += _write_frame(file, content)
    for block in blocks:
        size += _write_frame(file, orjson.dumps(block.keys))
        size += _write_frame(file, block.payload)
        if size > MOST_BYTES:
            problem = f"partition {snapshot.number}: snapshot larger than {MOST_BYTES} bytes"
            raise SnapshotRefused(problem)


def _write_frame(file: BinaryIO, content: bytes) -> int:
    head = _FRAME.pack(len(content), zlib.crc32(content))
    return file.write(head) + file.write(content)


def _identity(number: int, generation: int) -> dict[str, int]:
    """Return the fields that a file's head must have, with their only accepted values."""
    return {
        "format": FORMAT,
        "schema": STATE_SCHEMA,
        "logic_revision": LOGIC_REVISION,
        "generation": generation,
        "partition": number,
    }


def _head(snapshot: Snapshot, blocks: int) -> bytes:
    progress = snapshot.progress
    return orjson.dumps(
        {
            **_identity(snapshot.number, snapshot.generation),
            "positions": dict(snapshot.positions),
            "topic_ids": dict(snapshot.topic_ids),
            "told_offset": snapshot.changelog_next_offset,
            "next_offset": progress.next_offset,
            "newest_commit_us": progress.newest_commit_us,
            "highest_lsn": progress.highest_lsn,
            "streamed": progress.streamed,
            "open_keys": snapshot.open_keys,
            "undecodable": snapshot.undecodable,
            "again_us": snapshot.newest_resent_us,
            "blocks": blocks,
        }
    )


def _decoded(file: BinaryIO, number: int, generation: int) -> Snapshot:
    frames = _frames(file)
    head = orjson.loads(next(frames))
    for name, expected in _identity(number, generation).items():
        if head[name] != expected:
            problem = f"{name} is {head[name]!r}, expected {expected!r}"
            raise SnapshotRefused(problem)
    members = orjson.loads(bytes(zstd.decompress(next(frames))))
    cold = _read_blocks(frames, head["blocks"])
    return Snapshot(
        number=number,
        generation=generation,
        positions=head["positions"],
        topic_ids=head["topic_ids"],
        changelog_next_offset=head["told_offset"],
        progress=_progress_of(head),
        open_keys=tuple(cold.stored_key(InvKey(key)) for key in head["open_keys"]),
        ring=tuple((commit_us, tuple(identity), offset) for commit_us, identity, offset in members),
        cold=cold,
        undecodable=tuple(head["undecodable"]),
        newest_resent_us=head["again_us"],
    )


def _progress_of(head: dict[str, Any]) -> Progress:
    """Return the progress of `head`, without `ring_from` because the file has the ring itself."""
    return Progress(
        head["next_offset"],
        head["newest_commit_us"],
        head["highest_lsn"],
        streamed=head["streamed"],
        source_topic_id=head["topic_ids"].get(STOCK_EVENTS),
    )


def _read_blocks(frames: Iterator[bytes], blocks: int) -> ColdStates:
    """Return the states of all blocks; `blocks` is their number.

    Raises:
        SnapshotRefused: there are fewer or more blocks, or a block is incomplete.
    """
    cold, found = ColdStates(), 0
    for keys in frames:
        payload = next(frames, None)
        if payload is None:
            problem = "the last block has keys and no documents"
            raise SnapshotRefused(problem)
        cold.add_block(payload, orjson.loads(keys))
        found += 1
    if found != blocks:
        problem = f"{found} blocks, expected {blocks}"
        raise SnapshotRefused(problem)
    return cold


def _frames(file: BinaryIO) -> Iterator[bytes]:
    """Yield the content of each frame, in the order of the file.

    Frames are read one at a time, so that the whole file is never in memory.

    Raises:
        SnapshotRefused: a frame is damaged or incomplete, or the file has another first line.
    """
    end = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(len(_MAGIC)) != _MAGIC:
        problem = "not a snapshot of this application"
        raise SnapshotRefused(problem)
    at = len(_MAGIC)
    while at < end:
        length, checksum = _FRAME.unpack(file.read(_FRAME.size))
        at += _FRAME.size
        frame = file.read(min(length, end - at))  # a damaged length may be huge
        if len(frame) != length or zlib.crc32(frame) != checksum:
            problem = (
                f"the frame at byte {at} is damaged: it has {len(frame)} of {length} "
                "bytes, or its checksum is wrong"
            )
            raise SnapshotRefused(problem)
        at += length
        yield frame
