"""The piece of history that one task recomputes, and what is known of the result."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from analytics.archive.manifest import ArchiveFile, BrokenArchive, Manifest
from analytics.engines.code import code_hash
from cdc.contracts.versions import built, document_of, known

RESULT_SCHEMA: Final = known("run_unit")[-1]


@dataclass(frozen=True, slots=True)
class ArchiveUnit:
    """One key bucket of one partition, offsets before `end`; files in offset order."""

    archive: str
    partition: int
    bucket: int
    buckets: int
    end: int
    generation: int
    files: tuple[str, ...]
    input_digest: str
    code: str  # hash of the sources; found once, where they are files and not a shipped zip

    @property
    def name(self) -> str:
        """The unit's place in the plan."""
        return f"partition={self.partition}/bucket={self.bucket}of{self.buckets}"


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """What one finished task gives: where its rows are, how many, and their digests.

    `newest_commit_us`, `highest_lsn` and `streamed` are what a dedupe ring knows after the unit
    besides its members; of several buckets the largest of each is the partition's.
    """

    unit: str
    input_digest: str
    logic_revision: int
    code: str
    partition: int
    bucket: int
    end: int
    records: int
    keys: int
    outputs: int
    late: int
    rejected: int
    expired: int
    open_reorders: int
    states_digest: str
    outputs_digest: str
    late_digest: str
    rejected_digest: str
    expired_digest: str
    newest_commit_us: int | None
    highest_lsn: int | None
    streamed: bool
    directory: str
    milliseconds: int
    schema: int = RESULT_SCHEMA

    def as_json(self) -> dict[str, Any]:
        """The row as the run manifest keeps it."""
        return asdict(self)


def manifest_row(line: bytes) -> ManifestRow:
    """The row that a line of a run's manifest holds.

    Raises:
        UnreadableRecord: another release wrote it, or it is no such line.
    """
    return built("run_unit", document_of("run_unit", line), lambda row: ManifestRow(**row))


def units_of(
    manifest: Manifest, ends: Mapping[int, int], *, buckets: int
) -> tuple[ArchiveUnit, ...]:
    """Every unit of the history before `ends`.

    Raises:
        BrokenArchive: the archive does not reach an end.
    """
    if not manifest.covers(ends):
        problem = f"{manifest.directory}: not archived up to {dict(ends)}"
        raise BrokenArchive(problem)
    return tuple(
        _unit(manifest, partition, end, bucket, buckets)
        for partition, end in sorted(ends.items())
        for bucket in range(buckets)
        if end > 0
    )


def _unit(manifest: Manifest, partition: int, end: int, bucket: int, buckets: int) -> ArchiveUnit:
    files = [file for file in manifest.files(partition) if file.first_offset < end]
    generations = {file.generation for file in files}
    if len(generations) > 1:
        problem = f"{manifest.directory}: partition {partition} mixes generations {generations}"
        raise BrokenArchive(problem)
    return ArchiveUnit(
        archive=str(Path(manifest.directory).resolve()),
        partition=partition,
        bucket=bucket,
        buckets=buckets,
        end=end,
        generation=generations.pop() if generations else 0,
        files=tuple(file.file for file in files),
        input_digest=_input_digest(files, end, bucket, buckets),
        code=code_hash(),
    )


def _input_digest(files: Sequence[ArchiveFile], end: int, bucket: int, buckets: int) -> str:
    content = json.dumps([[file.digest for file in files], end, bucket, buckets])
    return hashlib.sha256(content.encode()).hexdigest()[:32]
