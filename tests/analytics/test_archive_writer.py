"""The archive under crashes: the same rows and verdicts as without a crash."""

import json
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from analytics.archive.manifest import Manifest
from analytics.archive.names import HEAD, MANIFEST
from analytics.archive.rows import ArchiveRow, read
from analytics.archive.writer import Arrival, open_writers
from cdc.contracts.decode import Malformed, decode
from inventory.log.dedupe import Ring
from tests.analytics.histories import PARTITIONS, archived, feed, generate


def content(directory: Path) -> list[list[ArchiveRow]]:
    manifest = Manifest(directory)
    return [
        [row for file in manifest.files(number) for row in read(directory / file.file)]
        for number in range(PARTITIONS)
    ]


@pytest.mark.parametrize("cut", [0, 1, 50, 131])
def test_an_archiver_crash_changes_no_row_and_no_verdict(tmp_path: Path, cut: int) -> None:
    history = generate(seed=cut)
    archived(tmp_path / "whole", history)

    for writer in open_writers(tmp_path / "cut", partitions=PARTITIONS, generation=1):
        for arrival in history.log[writer.partition][:cut]:
            writer.take(arrival)  # lost at the end of the process, because no file is closed
        writer.manifest.refresh()
    for writer in open_writers(tmp_path / "cut", partitions=PARTITIONS, generation=1):
        feed(writer, history.log[writer.partition][: cut + 20], roll_every=11)
    for writer in open_writers(tmp_path / "cut", partitions=PARTITIONS, generation=1):
        feed(writer, history.log[writer.partition], roll_every=29)

    assert content(tmp_path / "cut") == content(tmp_path / "whole")


def test_an_archive_file_without_a_manifest_line_is_written_again(tmp_path: Path) -> None:
    history = generate(seed=7)
    archived(tmp_path, history, roll_every=500)
    expected = content(tmp_path)
    shutil.rmtree(tmp_path / "partition=2")
    *lines, last = (tmp_path / MANIFEST).read_bytes().splitlines(keepends=True)
    for writer in open_writers(tmp_path / "before", partitions=2, generation=1):
        feed(writer, history.log[writer.partition], roll_every=500)
    (tmp_path / "before" / HEAD).replace(tmp_path / HEAD)
    (tmp_path / MANIFEST).write_bytes(b"".join(lines) + last[:20])
    orphan = tmp_path / "partition=2" / "seq-000000000000-000000000003.parquet"
    orphan.parent.mkdir()
    orphan.write_bytes(b"as far as the crash let it")

    for writer in open_writers(tmp_path, partitions=PARTITIONS, generation=1):
        feed(writer, history.log[writer.partition], roll_every=37)

    assert content(tmp_path) == expected
    assert not orphan.exists()


def test_a_restarted_archiver_restores_the_dedupe_ring_of_an_uninterrupted_one(
    tmp_path: Path,
) -> None:
    history = generate(seed=5, records=900)
    archived(tmp_path, history, roll_every=13)

    for writer in open_writers(tmp_path, partitions=PARTITIONS, generation=1):
        ring = Ring()
        for arrival in history.log[writer.partition]:
            with suppress(Malformed):
                ring.admit(decode(arrival.key, arrival.value, offset=arrival.offset))
        assert writer.ring.identities() == ring.identities()
        assert writer.ring.highest_lsn == ring.highest_lsn


@pytest.mark.parametrize("end", range(1, 5))
def test_a_restarted_archiver_restores_the_ring_after_a_repeated_snapshot_row(
    tmp_path: Path, end: int
) -> None:
    """The second record of the row is in another file, with its own LSN and commit time."""
    begun_us = 1_700_000_000_000_000
    comings = (("c", 1, 1, 0), ("r", 2, 5, 1), ("r", 2, 7, 150), ("c", 3, 9, 151))
    writer = open_writers(tmp_path, partitions=PARTITIONS, generation=1)[0]
    for offset, (op, row_id, lsn, second) in enumerate(comings[:end]):
        source = {"table": "sale_line", "lsn": lsn, "ts_us": begun_us + second * 1_000_000}
        content = json.dumps({"op": op, "before": None, "after": {"id": row_id}, "source": source})
        writer.take(Arrival(offset, 0, b"L|S", content.encode()))
        writer.roll()

    again = open_writers(tmp_path, partitions=PARTITIONS, generation=1)[0]

    former, restored = writer.ring, again.ring
    assert restored.identities() == former.identities()
    assert restored.newest_commit_us == former.newest_commit_us
    assert restored.highest_lsn == former.highest_lsn
    assert restored.streamed == former.streamed
    assert restored.replayed_from(end) == former.replayed_from(end)


def test_resent_and_malformed_records_keep_their_verdict(tmp_path: Path) -> None:
    archived(tmp_path, generate(seed=3))

    verdicts = {row.admission for part in content(tmp_path) for row in part}

    assert {"new", "resent", "malformed"} <= verdicts


def test_the_archiver_writes_facts_after_10_minutes_and_heartbeats_after_an_hour(
    tmp_path: Path,
) -> None:
    history = generate(seed=3)
    now = 0.0
    writer = open_writers(tmp_path, partitions=PARTITIONS, generation=1)[0]
    writer.clock = lambda: now
    sale, later, *_ = (one for one in history.log[0] if one.value and b'"sale_line"' in one.value)
    assert sale.value is not None
    beat = replace(sale, value=sale.value.replace(b'"sale_line"', b'"pipeline_heartbeat"'))

    def files_when(at: float) -> int:
        nonlocal now
        now = at
        writer.roll_if_due()
        return len(writer.manifest.files(0))

    writer.take(beat)
    assert (files_when(3599.9), files_when(3600.0)) == (0, 1)
    writer.take(later)
    assert (files_when(4199.9), files_when(4200.0)) == (1, 2)
