"""Files with a schema and a version. The refusal of an unknown version names the next step."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analytics.archive import rows
from analytics.archive.entries import parsed
from analytics.archive.head import read_head
from analytics.archive.manifest import BrokenArchive, Manifest
from analytics.archive.names import HEAD, MANIFEST, SOURCE
from analytics.archive.source import source_id
from analytics.backfill.plan import PLAN_FILE, UnknownRun, ends_of_run, load
from analytics.backfill.seal import RUN_MANIFEST
from analytics.backfill.units import finished_units
from analytics.engines import results
from analytics.engines.unit import manifest_row
from cdc.contracts import versions
from cdc.contracts.topic_ids import decode_topic_ids
from cdc.contracts.versions import UnknownVersion, UnreadableRecord
from deploy.revisions.publish import MARK, _marked
from streams.engine import snapshot
from streams.engine.snapshot import SnapshotRefused
from streams.worker import topic_identity as origins
from tests.cdc.contract import FILES, complaints, schema, validator
from tests.golden.files import documents_of, kept_in_files, ring_of, snapshot_frames
from tests.golden.workers import kept

PAGE = Path(__file__).parents[2] / "docs" / "contracts.md"
RELEASES = [(kind, version) for kind in FILES for version in versions.known(kind)]
Reader = Callable[[Path, bytes], Any]


def of_file(name: str, read: Callable[[Path], Any]) -> Reader:
    """Return a reader for a file of this name in a directory."""

    def reader(directory: Path, content: bytes) -> Any:
        (directory / name).write_bytes(content + b"\n")
        return read(directory)

    return reader


def printed(content: bytes) -> bytes:
    """Return a one-line JSON document as its file has it: one value per line, indented."""
    return json.dumps(json.loads(content), indent=1).encode()


READERS: dict[str, Reader] = {
    "topic_ids": lambda _directory, content: decode_topic_ids(content),
    "archive_source": of_file(SOURCE, source_id),
    "archive_file": lambda _directory, content: parsed(content, MANIFEST),
    "archive_head": lambda directory, content: of_file(HEAD, read_head)(
        directory, printed(content)
    ),
    "plan": of_file(PLAN_FILE, load),
    "run_unit": lambda _directory, content: manifest_row(content),
    "run": lambda _directory, content: json.loads(content),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, bytes]]:
    return list(kept_in_files(tmp_path_factory.mktemp("home")))


def test_written_files_fit_their_schema_and_have_the_newest_version(
    written: list[tuple[str, bytes]],
) -> None:
    assert {kind for kind, _ in written} == FILES.keys()
    for kind, content in written:
        assert complaints(kind, content) == []
        assert json.loads(content)[FILES[kind]] == max(versions.known(kind))


@pytest.mark.parametrize(("kind", "version"), RELEASES)
def test_a_released_file_is_read_and_fits_the_schema_of_its_version(
    kind: str, version: int, tmp_path: Path
) -> None:
    for content in kept(kind, version):
        assert json.loads(content)[FILES[kind]] == version
        assert complaints(kind, content) == []
        if kind in READERS:  # a worker discards a snapshot of another format and needs no reader
            assert READERS[kind](tmp_path, content)


def test_an_archive_of_schema_1_is_refused_with_the_rearchive_command(
    tmp_path: Path,
) -> None:
    (tmp_path / MANIFEST).write_bytes(b"".join(line + b"\n" for line in kept("archive_file", 1)))

    with pytest.raises(BrokenArchive, match=r"schema 1.*`inventory backfill rearchive --yes`"):
        Manifest(tmp_path)


@pytest.mark.parametrize("kind", sorted(READERS.keys() - {"run"}))
def test_a_file_of_an_unknown_version_is_refused_with_its_number(kind: str, tmp_path: Path) -> None:
    content = json.dumps(json.loads(kept(kind, versions.known(kind)[-1])[0]) | {"schema": 9})

    with pytest.raises((BrokenArchive, UnknownRun, UnknownVersion), match="9"):
        READERS[kind](tmp_path, content.encode())


def test_end_offsets_are_not_read_from_a_plan_of_an_unknown_version(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    plan = json.loads(kept("plan", 2)[0]) | {"schema": 9}
    (tmp_path / "run" / PLAN_FILE).write_text(json.dumps(plan))

    with pytest.raises(UnknownRun, match="its plan has version 9, this release reads 2, 3, 4"):
        ends_of_run(tmp_path, "last")


def test_a_run_is_not_continued_with_units_of_another_release(tmp_path: Path) -> None:
    (tmp_path / PLAN_FILE).write_bytes(kept("plan", 2)[0])
    unit = json.loads(kept("run_unit", 2)[0]) | {"schema": 9}
    (tmp_path / RUN_MANIFEST).write_text(json.dumps(unit) + "\n")

    with pytest.raises(UnknownRun, match="run_unit record: schema 9 is unknown here; known: 2, 3"):
        finished_units(tmp_path, load(tmp_path))


@pytest.mark.parametrize("content", [b'{"stock.events": "abc"}', b'{"topic_id": "abc"}', b"{}"])
def test_topic_ids_without_a_schema_version_are_read(content: bytes) -> None:
    assert decode_topic_ids(content) == json.loads(content)


@pytest.mark.parametrize("content", [b"", b"[1]", b"[" * 99_999, b'{"schema":1,"topic_ids":[1]}'])
def test_malformed_topic_ids_are_refused(content: bytes) -> None:
    with pytest.raises(UnreadableRecord, match="topic_ids record"):
        decode_topic_ids(content)


def test_the_topic_id_of_an_archive_source_without_a_version_is_read(tmp_path: Path) -> None:
    (tmp_path / SOURCE).write_text('{"topic": "stock.events", "topic_id": "abc"}')

    assert source_id(tmp_path) == "abc"


def test_a_worker_stops_at_topic_ids_of_an_unknown_version(tmp_path: Path) -> None:
    known = tmp_path / "topics.json"
    known.write_text('{"schema": 2, "ids": []}')

    with pytest.raises(UnknownVersion) as stopped:
        origins._read(known)

    assert str(stopped.value) == f"{known}: topic_ids record: schema 2 is unknown here; known: 1"


@pytest.mark.parametrize("content", ['{"schema": 2}', "[]"])
def test_a_publication_stops_at_an_unreadable_mark_file(tmp_path: Path, content: str) -> None:
    mark = tmp_path / MARK
    assert _marked(mark) is None
    mark.write_text(content)

    with pytest.raises(UnreadableRecord, match=str(mark)):
        _marked(mark)


def test_the_contracts_page_lists_the_columns_of_parquet_files() -> None:
    told = PAGE.read_text("utf-8").partition("Parquet files have")[2].partition("\n\n")[0]
    columns = re.findall(r"`(\w+)`", told)

    of_runs = {name for schema in results.SCHEMAS.values() for name in schema.names}
    assert columns[: len(rows.SCHEMA.names)] == rows.SCHEMA.names
    assert set(columns[len(rows.SCHEMA.names) :]) == of_runs


def test_a_snapshot_is_a_head_a_ring_and_blocks_of_states(tmp_path: Path) -> None:
    frames = snapshot_frames(tmp_path)
    head = json.loads(frames[0])
    member = validator("snapshot.v4").evolve(schema=schema("snapshot.v4")["$defs"]["member"])

    ring, documents = ring_of(frames), list(documents_of(frames))

    assert [list(member.iter_errors(each)) for each in ring] == [[]] * len(ring)
    assert len(ring) > 0
    assert len(frames) == 2 + 2 * head["blocks"]
    for key, content in documents:
        assert complaints("state", content) == []
        assert json.loads(content)["inv_key"] == key
    assert len(documents) > 0


def test_a_snapshot_of_another_format_is_discarded_with_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot_frames(tmp_path)
    monkeypatch.setattr("streams.engine.snapshot.FORMAT", 5)

    with pytest.raises(SnapshotRefused, match="format is 4, expected 5"):
        snapshot.load(tmp_path / "snapshots", 4, 1)
