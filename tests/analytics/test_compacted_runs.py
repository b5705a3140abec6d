"""Runs from before a compaction can still be compared, and their log can still be queried."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from analytics.archive.compact import Limits, compact
from analytics.archive.entries import BrokenArchive, Source
from analytics.archive.follow import only_archiver
from analytics.archive.manifest import Manifest
from analytics.archive.names import SOURCE
from analytics.archive.source import write_source_id
from analytics.backfill.diff.compared_runs import compared_runs
from analytics.backfill.diff.divergence import Trees, divergence
from analytics.backfill.diff.revised import REORDER
from analytics.backfill.diff.scratch import Scratch
from analytics.backfill.read_files import present_files, same_records
from analytics.backfill.run import runs_dir
from analytics.engines.code import code_hash
from analytics.history.log_tables import LOG_TABLES
from analytics.history.opened import Request, open_history
from tests.analytics import two_runs
from tests.analytics.histories import PARTITIONS
from tests.analytics.history_homes import rows
from tests.analytics.two_runs import Home, a_history, a_home

ALL = Limits(least=1 << 40, most=1 << 40, newest=0)


@pytest.fixture(name="home")
def a_home_of_one_test(tmp_path: Path) -> Home:
    return a_home(tmp_path / "home", a_history(steps=120))


def compacted(home: Home) -> Home:
    """Merge the archive's files. Return the home with its new manifest."""
    with only_archiver(home.settings.archive_dir):
        assert compact(home.settings.archive_dir, ALL).former is not None
    shutil.rmtree(home.settings.home / "former")
    return Home(home.settings, Manifest(home.settings.archive_dir))


def test_the_log_of_an_older_run_is_read_from_the_compacted_archive(home: Home) -> None:
    run = home.run(ends={number: home.manifest.next_offset(number) - 5 for number in range(3)})
    before = open_history(home.settings, Request(run))
    tables = {table.name: rows(before, table.name) for table in LOG_TABLES}
    assert tables["log"]

    compacted(home)
    kept = open_history(home.settings, Request(run))
    shutil.rmtree(home.settings.home / "backfill" / "tables")
    after = open_history(home.settings, Request(run))

    assert kept.partitions_written == 0
    assert after.partitions_written == PARTITIONS
    assert {table.name: rows(after, table.name) for table in LOG_TABLES} == tables


def test_runs_from_before_and_after_a_compaction_can_be_compared(home: Home) -> None:
    former, other = home.run(), home.run(two_runs.higher_reorder_point)
    with Scratch() as scratch:
        expected = home.compare(former, other, scratch).digest

    later = compacted(home)
    with Scratch() as scratch:
        found = later.compare(former, later.run(two_runs.higher_reorder_point), scratch)

    assert found.digest == expected
    assert found.count(REORDER) > 0


def test_a_key_is_explained_after_a_compaction(home: Home) -> None:
    a = home.run(code=code_hash())
    b = home.run(two_runs.higher_reorder_point)
    runs = compared_runs(runs_dir(home.settings), a, b)
    with Scratch() as scratch:
        home.compare(a, b, scratch)
        key = str(next(scratch.ranked(REORDER))["inv_key"])
    before = divergence(home.settings, runs, key, Trees())

    compacted(home)
    after = divergence(home.settings, runs, key, Trees())

    assert after == before
    assert after is not None
    assert after.a.found is not None


def test_a_run_refuses_the_archive_of_another_topic(home: Home) -> None:
    run = home.run()
    compacted(home)
    (home.settings.archive_dir / SOURCE).unlink()
    write_source_id(home.settings.archive_dir, "another")

    with pytest.raises(BrokenArchive, match=f"holds other records of partition 0 than run {run}"):
        open_history(home.settings, Request(run))


def test_a_run_refuses_a_shorter_archive(home: Home, tmp_path: Path) -> None:
    plan = compared_runs(runs_dir(home.settings), run := home.run(), run).a.plan
    shorter = a_home(tmp_path / "shorter", a_history(steps=60))

    with pytest.raises(BrokenArchive, match="holds other records"):
        present_files(plan, shorter.settings.archive_dir)


def test_a_run_accepts_a_rewritten_archive_with_other_file_hashes(home: Home) -> None:
    plan = compared_runs(runs_dir(home.settings), run := home.run(), run).a.plan
    units = tuple(
        replace(unit, sources=tuple(replace(one, sha256="other") for one in unit.sources))
        for unit in plan.units
    )

    found = present_files(replace(plan, units=units), home.settings.archive_dir)

    expected = {unit.partition: list(unit.sources) for unit in plan.units}
    assert {number: list(files) for number, files in found.items()} == expected
    (home.settings.archive_dir / SOURCE).unlink()
    with pytest.raises(BrokenArchive, match="holds other records"):
        present_files(replace(plan, units=units, source_topic_id=None), home.settings.archive_dir)


def file(first: int, following: int, *, rows: int | None = None, sha256: str = "") -> Source:
    number = following - first if rows is None else rows
    return Source(f"{first}", 0, first, following, number, 1, sha256 or f"{first}-{following}")


@pytest.mark.parametrize(
    ("present", "end", "expected"),
    [
        ([file(0, 10), file(10, 20), file(20, 30)], 30, True),
        ([file(0, 30)], 30, True),
        ([file(0, 10), file(10, 30)], 30, True),
        ([file(0, 10), file(10, 40)], 28, True),
        ([file(0, 10), file(10, 40)], 31, False),
        ([file(0, 10), file(10, 20)], 30, False),
        ([file(0, 10), file(10, 20, sha256="other"), file(20, 30)], 30, False),
        ([file(0, 30, rows=29)], 30, False),
        ([file(1, 30)], 30, False),
        ([], 30, False),
    ],
)
def test_files_hold_the_same_records_if_they_are_equal_or_merged(
    present: list[Source], end: int, *, expected: bool
) -> None:
    planned = [file(0, 10), file(10, 20), file(20, 30)]

    assert same_records(planned, present, end) is expected
    assert same_records(present, planned, end) is expected
    assert same_records(planned, [replace(one) for one in planned], end)
