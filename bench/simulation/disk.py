"""The snapshot directories of simulated workers, and faults of their files.

The files are real, written and read by the engine's own code. They are in a memory file system if
the machine has one, so that the engine doesn't wait for a disk.
"""

import shutil
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from bench.simulation import faults
from bench.simulation.oracle import GENERATION
from bench.simulation.scale import scaled
from bench.simulation.source import SentRecord
from cdc.contracts.decode import Malformed, decode
from cdc.contracts.progress import Progress
from inventory.fold.partition import Partition
from streams.engine.cold import ColdStates
from streams.engine.records import Positions, TopicIds
from streams.engine.snapshot import (
    _FRAME,
    _MAGIC,
    Snapshot,
    SnapshotRefused,
    file_of,
    load,
    write,
)

_IN_MEMORY: Final = Path("/dev/shm")  # noqa: S108 -- `mkdtemp` makes a private directory in it
_OTHER_GENERATION: Final = GENERATION - 1


class Disk:
    """A context manager with one snapshot directory per worker, also for its restarts.

    Within the context, the engine has the small limits of the module `scale`.
    """

    def __init__(self) -> None:
        place = _IN_MEMORY if _IN_MEMORY.is_dir() else None
        self._root = Path(tempfile.mkdtemp(prefix="simulation-", dir=place))
        self._first: dict[Path, bytes] = {}
        self._scaled = scaled()

    def __enter__(self) -> Self:
        self._scaled.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._scaled.__exit__(kind, error, trace)
        shutil.rmtree(self._root)

    def clear(self) -> None:
        """Delete every file."""
        self._first.clear()
        for path in self._root.glob("*/*"):
            path.unlink()

    def directory(self, slot: int) -> Path:
        """Return the snapshot directory of the worker in that slot."""
        return self._root / f"worker-{slot}"

    def remember(self, slot: int) -> None:
        """Copy the worker's first snapshot files. Call this before each write of a snapshot.

        The fault `AGE` replaces later files with these copies.
        """
        for path in self.directory(slot).glob("*.snapshot"):
            if path not in self._first:
                self._first[path] = path.read_bytes()

    def load(self, slot: int, partition: int) -> Snapshot | None:
        """Return the snapshot that the worker in that slot loads; None without a valid file."""
        try:
            return load(self.directory(slot), partition, GENERATION)
        except SnapshotRefused:
            return None

    def damage(self, slot: int, kind: str) -> None:
        """Apply a fault of this kind to every snapshot file of the worker."""
        paths = sorted(self.directory(slot).glob("*.snapshot"))
        contents = [path.read_bytes() for path in paths]
        for path, content, other in zip(paths, contents, reversed(contents), strict=True):
            match kind:
                case faults.TEAR:
                    # Cut the file within a frame, or between two frames. In the second case, every
                    # checksum is right.
                    ends = _frame_ends(content)
                    path.write_bytes(content[: ends[-3:][0] - len(content) % 2])
                case faults.FLIP:
                    at = len(content) * 2 // 3
                    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
                case faults.AGE:
                    path.write_bytes(self._first.get(path, content))
                case _:
                    path.write_bytes(other)

    def spoof(
        self,
        slot: int,
        partition: int,
        sent: list[SentRecord],
        positions: Positions,
        topic_ids: TopicIds,
    ) -> None:
        """Write a snapshot of another generation of the log into the file of this generation."""
        other = _of_another_log(partition, sent, positions, topic_ids)
        self.remember(slot)
        path = write(other, self.directory(slot))
        path.replace(file_of(self.directory(slot), partition, GENERATION))


def _frame_ends(content: bytes) -> list[int]:
    """Return the end offsets of the frames in the content of a snapshot file."""
    ends = [len(_MAGIC)]
    while ends[-1] + _FRAME.size <= len(content):
        length, _ = _FRAME.unpack_from(content, ends[-1])
        ends.append(ends[-1] + _FRAME.size + length)
    return ends


def _of_another_log(
    partition: int, sent: list[SentRecord], positions: Positions, topic_ids: TopicIds
) -> Snapshot:
    """Fold the records `sent` in reverse order, and return a snapshot of another generation.

    It simulates a snapshot of an earlier topic. Malformed records are left out.
    """
    folded = Partition(_OTHER_GENERATION)
    for offset, record in enumerate(reversed(sent)):
        try:
            folded.apply(decode(record.key, record.value, offset=offset))
        except Malformed:
            continue
    resting = ColdStates()
    for _keys in resting.add(folded.states.values()):
        pass
    ring = folded.ring
    return Snapshot(
        number=partition,
        generation=_OTHER_GENERATION,
        positions=positions,
        topic_ids=topic_ids,
        changelog_next_offset=len(sent),
        progress=Progress(
            len(sent), ring.newest_commit_us, ring.highest_lsn, streamed=ring.streamed
        ),
        open_keys=(),
        ring=ring.identities(),
        cold=resting,
    )
