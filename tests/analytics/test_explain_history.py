"""Explanations of one key from the archived log, compared with a fold of the partition."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from analytics.explain_history import history_of
from analytics.explain_text import revision_lines
from cdc.contracts.decode import Malformed, decode
from cdc.contracts.partition import partition_of
from cdc.settings import Connections
from inventory.fold.partition import Partition
from inventory.fold.record import FoldResult
from inventory.model.ids import InvKey
from inventory.model.record import Record
from tests.analytics.histories import PARTITIONS, Generated, archived, generate

DAY_US = 86_400_000_000


def settings(home: Path) -> Connections:
    url = SecretStr("postgresql://nobody@127.0.0.1:1/none")
    return Connections(
        home=home, partitions=PARTITIONS, read_database_url=url, query_token=SecretStr("token")
    )


def folded(history: Generated, key: str) -> list[tuple[Record, FoldResult]]:
    """Return every record of the key with its result in a fold of the partition."""
    partition, found = Partition(1), []
    for arrival in history.log[partition_of(key.encode(), PARTITIONS)]:
        with suppress(Malformed):
            record = decode(arrival.key, arrival.value, offset=arrival.offset)
            done = partition.apply(record)
            if record.key == key:
                found.append((record, done))
    return found


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_whole_history_of_a_key_ends_in_its_state(tmp_path: Path, seed: int) -> None:
    history = generate(seed)
    archived(tmp_path / "archive", history)

    for key in sorted(history.keys):
        number = partition_of(key.encode(), PARTITIONS)
        found, records = history_of(settings(tmp_path), key, number), folded(history, key)

        assert found.state == records[-1][1].state
        offsets = sorted(
            offset for row_offsets in found.row_offsets.values() for offset in row_offsets
        )
        assert offsets == [record.offset for record, _ in records]


@pytest.mark.parametrize("days", [-1, 0, 1, 2, 90])
def test_the_state_at_a_time_is_the_newest_with_stream_time_up_to_it(
    tmp_path: Path, days: int
) -> None:
    history = generate(4)
    archived(tmp_path / "archive", history)
    key = min(history.keys)
    records = folded(history, key)
    first = records[0][1].state
    assert first is not None
    assert first.stream_time_us is not None
    until_us = first.stream_time_us + days * DAY_US

    found = history_of(
        settings(tmp_path), key, partition_of(key.encode(), PARTITIONS), until_us=until_us
    )

    known = [
        done.state
        for _, done in records
        if done.state is not None and (done.state.stream_time_us or 0) <= until_us
    ]
    assert found.state == (known[-1] if known else None)


def test_every_late_change_of_a_closed_window_is_one_revision(tmp_path: Path) -> None:
    history = generate(5, records=900)
    archived(tmp_path / "archive", history)
    seen = 0

    for key in sorted(history.keys):
        found = history_of(settings(tmp_path), key, partition_of(key.encode(), PARTITIONS))
        newest = {one.start_us: one for one in found.revisions}
        by_window = [one.window_revision for one in found.revisions]
        assert len(found.revisions) == len(
            {(o.start_us, o.window_revision) for o in found.revisions}
        )
        assert all(number >= 1 for number in by_window)
        assert found.state is not None
        for start_us, row in found.state.windows.items():
            if row.window_revision:
                one = newest[start_us]
                assert (one.window_revision, one.sold_units, one.late_lines) == (
                    row.window_revision,
                    row.sold_units,
                    row.late_lines,
                )
                assert len([r for r in found.revisions if r.start_us == start_us]) == (
                    row.window_revision
                )
                seen += 1

    assert seen > 10


def test_each_window_revision_is_printed_on_one_line(tmp_path: Path) -> None:
    history = generate(5, records=900)
    archived(tmp_path / "archive", history)
    key = min(history.keys)
    found = history_of(settings(tmp_path), key, partition_of(key.encode(), PARTITIONS))
    one = replace(
        found.revisions[0],
        offset=7,
        table="sale_line",
        id=3,
        op="c",
        start_us=1_772_359_200_000_000,
    )

    lines = list(revision_lines((one,)))

    assert lines[0] == "Late changes of closed windows"
    assert lines[1].startswith("  2026-03-01 10:00:00")
    assert lines[1].endswith("; c of sale_line 3 @7")
    assert list(revision_lines(())) == []


def test_the_history_of_a_key_is_empty_without_an_archive(tmp_path: Path) -> None:
    found = history_of(settings(tmp_path), InvKey("L|S"), 0)

    assert (found.row_offsets, found.revisions, found.state) == ({}, (), None)
