"""The part of history that one task recomputes, and the manifest row of its result."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from analytics.archive.checked import refuse_missing
from analytics.archive.entries import Source
from analytics.archive.manifest import ArchiveFile, Manifest
from analytics.engines.code import code_hash
from analytics.engines.selection import EVERYTHING, Selection
from cdc.contracts.versions import UnreadableRecord, built, document_of, known

KIND: Final = "run_unit"
RESULT_SCHEMA: Final = known(KIND)[-1]
_CHECKSUM: Final = "checksum"


@dataclass(frozen=True, slots=True)
class ArchiveUnit:
    """The records before offset `end` of one key bucket of one partition.

    `files` are the archive files with these records, in offset order. `sources` are the same files
    with the fields that a task checks when it reads them. Records of keys outside `selection` are
    not folded. `base` is the result of the same unit in a finished run. The fold starts from the
    states of this result, and skips the records that these states include.
    """

    archive: str
    partition: int
    bucket: int
    buckets: int
    end: int
    generation: int
    files: tuple[str, ...]
    input_digest: str
    code: str  # hash of the source code, computed from its files and not from a shipped zip
    sources: tuple[Source, ...] = ()
    selection: Selection = EVERYTHING
    base: "ManifestRow | None" = None

    @property
    def name(self) -> str:
        """Return the unit's name in the plan: `partition=P/bucket=BofN`."""
        return f"partition={self.partition}/bucket={self.bucket}of{self.buckets}"

    @property
    def begin(self) -> int:
        """Return the offset of the first record to fold: the end of the base, or 0."""
        return 0 if self.base is None else self.base.end


def unit_of(row: Mapping[str, Any]) -> ArchiveUnit:
    """Return the unit that a plan's JSON describes."""
    base = row.get("base")
    return ArchiveUnit(
        **{
            **row,
            "base": None if base is None else _row(dict(base)),
            "files": tuple(row["files"]),
            "sources": tuple(Source(**source) for source in row.get("sources", ())),
            "selection": selection_of(row.get("selection", {})),
        }
    )


def selection_of(row: Mapping[str, Sequence[str]]) -> Selection:
    """Return the selection that a plan's JSON describes. An empty object selects every key."""
    return Selection(**{name: tuple(chosen) for name, chosen in row.items()})


@dataclass(frozen=True, slots=True)
class Written:
    """Size in bytes, rows and SHA-256 of one result file, as it was written."""

    bytes: int
    rows: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ManifestRow:
    """The result of one finished task: its directory, and numbers and digests of its rows.

    `files` maps a kind to its file, which readers check before they use it. `newest_commit_us`,
    `highest_lsn` and `streamed` are the dedupe ring's values after the unit. A partition's value is
    the largest among its buckets. The identities in the ring are not stored.
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
    files: dict[str, Written] = field(default_factory=dict)
    schema: int = RESULT_SCHEMA

    @property
    def run(self) -> Path:
        """Return the directory of the run, four levels above the unit's `directory`."""
        return Path(self.directory).parents[3]


def line_of(row: ManifestRow) -> bytes:
    """Return the row as a line of the run's manifest, with its own checksum."""
    return _canonical(_checked(asdict(row)))


def manifest_row(line: bytes) -> ManifestRow:
    """Return the row that a line of a run's manifest holds.

    Raises:
        UnreadableRecord: another release wrote it, or it is malformed, or was changed.
    """
    document = document_of(KIND, line)
    content = {name: value for name, value in document.items() if name != _CHECKSUM}
    if document["schema"] == RESULT_SCHEMA and line != _canonical(_checked(content)):
        problem = f"{KIND} record: changed: its checksum doesn't match its content"
        raise UnreadableRecord(problem)
    return built(KIND, document, _row)


def _row(document: dict[str, Any]) -> ManifestRow:
    document.pop(_CHECKSUM, None)
    files = {kind: Written(**file) for kind, file in document.pop("files", {}).items()}
    return ManifestRow(**document, files=files)


def _checked(document: dict[str, Any]) -> dict[str, Any]:
    return document | {_CHECKSUM: hashlib.sha256(_canonical(document)).hexdigest()}


def _canonical(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":")).encode()


def units_of(
    manifest: Manifest,
    ends: Mapping[int, int],
    *,
    buckets: int,
    selection: Selection = EVERYTHING,
    code: str | None = None,
) -> tuple[ArchiveUnit, ...]:
    """Return the units that cover all records before `ends`.

    `code` is the hash of the rules, by default the hash of this code.

    Raises:
        BrokenArchive: the archive does not reach an end, or a file is missing.
    """
    if not manifest.covers(ends):
        reached = {number: manifest.next_offset(number) for number in sorted(ends)}
        problem = f"{manifest.storage}: archived up to {reached}, not up to {dict(ends)}"
        raise manifest.storage.broken(problem)
    refuse_missing(manifest)
    computed_by = code or code_hash()
    return tuple(
        _selected(_unit(manifest, partition, end, (bucket, buckets), computed_by), selection)
        for partition, end in sorted(ends.items())
        for bucket in range(buckets)
        if end > 0
    )


def _unit(
    manifest: Manifest, partition: int, end: int, part: tuple[int, int], code: str
) -> ArchiveUnit:
    bucket, buckets = part
    files = [file for file in manifest.files(partition) if file.first_offset < end]
    generations = {file.generation for file in files}
    if len(generations) > 1:
        problem = f"{manifest.storage}: partition {partition} mixes generations {generations}"
        raise manifest.storage.broken(problem)
    return ArchiveUnit(
        archive=manifest.storage.address,
        partition=partition,
        bucket=bucket,
        buckets=buckets,
        end=end,
        generation=generations.pop() if generations else 0,
        files=tuple(file.file for file in files),
        input_digest=_input_digest(files, end, bucket, buckets),
        code=code,
        sources=tuple(file.source for file in files),
    )


def _selected(unit: ArchiveUnit, selection: Selection) -> ArchiveUnit:
    """Return the unit for the selected keys. Its input digest depends on the selection."""
    if selection.is_all:
        return unit
    content = json.dumps([unit.input_digest, asdict(selection)], sort_keys=True)
    digest = hashlib.sha256(content.encode()).hexdigest()[:32]
    return replace(unit, selection=selection, input_digest=digest)


def continued_unit(unit: ArchiveUnit, base: ManifestRow | None, seal: str) -> ArchiveUnit:
    """Return `unit`, but only for the records after the end of `base`.

    `base` is the unit's result in the base run, and `seal` the hash in the report of that run. If
    `base` is None, the base run had no record of the partition: return `unit` unchanged.
    """
    if base is None:
        return unit
    content = json.dumps([unit.input_digest, base.end, seal, base.input_digest, base.states_digest])
    sources = tuple(source for source in unit.sources if source.next_offset > base.end)
    return replace(
        unit,
        base=base,
        files=tuple(source.file for source in sources),
        sources=sources,
        input_digest=hashlib.sha256(content.encode()).hexdigest()[:32],
    )


def _input_digest(files: Sequence[ArchiveFile], end: int, bucket: int, buckets: int) -> str:
    content = json.dumps([[file.digest for file in files], end, bucket, buckets])
    return hashlib.sha256(content.encode()).hexdigest()[:32]
