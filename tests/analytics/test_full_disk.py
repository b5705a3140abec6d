"""A full disk ends a run with one message. With free space, a new start gives the usual result."""

import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from analytics.archive.manifest import Manifest
from analytics.archive.writer import open_writers
from analytics.backfill.diff import page, tables
from analytics.backfill.plan import Plan, make_plan
from analytics.backfill.run import execute
from analytics.digest import from_hex, total
from analytics.engines import local
from analytics.engines.failure import EngineFailed, failed
from analytics.history.opened import Request, open_history
from analytics.simulation.groups import Group
from analytics.simulation.outcome import Outcome
from analytics.simulation.parts import PartWriter
from analytics.simulation.placed_orders import Simulated
from tests.analytics.histories import PARTITIONS, archived, feed, generate
from tests.analytics.history_homes import a_small_home
from tests.analytics.two_runs import _run_here
from tests.small_disk import mounted

MEGABYTES = 8
PAGE = 4096
LEVELS = 8
HISTORY = generate(seed=6, records=240)


@pytest.fixture(name="disk")
def a_small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "disk", MEGABYTES) as where:
        yield where


def fill(disk: Path, *, but: int) -> Path:
    """Fill the disk until `but` bytes are free. Return the file that takes the space."""
    found = os.statvfs(disk)
    filler = disk / "filler"
    filler.write_bytes(b"\1" * max(0, found.f_bavail * found.f_frsize - but))
    return filler


def plan_of(manifest: Manifest, engine: str) -> Plan:
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    return make_plan(manifest, engine=engine, ends=ends)


def size_of(directory: Path) -> int:
    """Return the bytes of all files, with each file rounded up to whole pages of the disk."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in files)


def test_a_run_on_a_full_disk_reports_it_and_continues_after_space_is_freed(
    disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "run_units", _run_here)
    plan = plan_of(archived(tmp_path / "archive", HISTORY), "local")
    known = execute(plan, tmp_path / "undisturbed")
    step = size_of(known.directory) // LEVELS
    problems = []
    for level in range(LEVELS):
        filler = fill(disk, but=level * step)
        with pytest.raises(EngineFailed, match="No space left on device") as ended:
            execute(plan, disk / "runs")
        problems.append(ended.value.problem)
        assert "are finished and kept in" in ended.value.kept
        assert "free space" in ended.value.step
        assert "start the same command again" in ended.value.step
        attempts = list((disk / "runs").glob("*/results/*/*/attempt-*"))
        commits = list((disk / "runs").glob("*/commits/partition*.json"))
        assert len(attempts) - len(commits) <= 1  # an attempt stays if its commit finds no space

        filler.unlink()
        again = execute(plan, disk / "runs")
        assert again.digest == known.digest
        shutil.rmtree(disk / "runs")
    assert any("unit partition=" in problem for problem in problems)
    assert any("unit partition=" not in problem for problem in problems)


@pytest.mark.engines
@pytest.mark.soak
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_an_engine_on_a_full_disk_ends_with_one_message(
    disk: Path, tmp_path: Path, engine: str, capfd: pytest.CaptureFixture[str]
) -> None:
    plan = plan_of(archived(tmp_path / "archive", HISTORY), engine)
    known = execute(plan, tmp_path / "undisturbed")
    filler = fill(disk, but=size_of(tmp_path / "undisturbed" / plan.run / "results") // 2)
    capfd.readouterr()

    with pytest.raises(EngineFailed, match="No space left on device"):
        execute(plan, disk / "runs")
    printed = capfd.readouterr()

    assert "Traceback" not in printed.out + printed.err
    filler.unlink()
    assert execute(plan, disk / "runs").digest == known.digest


# 2 pages are too few to begin a file. With 24 or 44, the end of an unfinished file finds no space.
@pytest.mark.parametrize("free_pages", [2, 24, 44])
def test_history_tables_on_a_full_disk_leave_no_unfinished_file(
    disk: Path, free_pages: int
) -> None:
    home = a_small_home(disk)
    fill(disk, but=free_pages * PAGE)

    with pytest.raises(OSError, match="No space left on device"):
        open_history(home.settings, Request())

    assert not list(disk.rglob("*.tmp"))


def test_an_archiver_on_a_disk_that_fills_up_archives_each_record_once(
    disk: Path, tmp_path: Path
) -> None:
    known = archived(tmp_path / "archive", HISTORY)
    step = size_of(known.directory) // LEVELS
    for level in range(LEVELS):
        filler = fill(disk, but=level * step)
        with pytest.raises(OSError, match="No space left on device"):
            archived(disk / "archive", HISTORY)

        filler.unlink()
        for writer in open_writers(disk / "archive", partitions=PARTITIONS, generation=1):
            feed(writer, HISTORY.log[writer.partition], roll_every=50)
        again = Manifest(disk / "archive")
        for number in range(PARTITIONS):
            assert again.next_offset(number) == known.next_offset(number)
            assert content_of(again, number) == content_of(known, number)
        assert list((disk / "archive").rglob("*.tmp")) == []
        shutil.rmtree(disk / "archive")


def write_outcomes(directory: Path) -> None:
    group = Group("L1", "ACME", "fast")
    with PartWriter(directory, "partition=0/bucket=0of1") as unit:
        for _ in range(20_000):
            key = f"{os.urandom(20).hex()}|{os.urandom(20).hex()}"
            unit.write("baseline", key, group, Simulated(Outcome()))


def test_a_simulation_on_a_full_disk_asks_for_free_space(disk: Path) -> None:
    fill(disk, but=8 * PAGE)

    with pytest.raises(OSError, match="No space left on device") as ended:
        write_outcomes(disk)

    assert "free space" in failed("partition=0", "simulate baseline", ended.value).step
    assert list(disk.rglob("*.tmp")) == []


def content_of(manifest: Manifest, number: int) -> int:
    return total(from_hex(file.digest) for file in manifest.files(number))


def test_a_comparison_on_a_full_disk_leaves_no_incomplete_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(*_: object) -> Iterator[Any]:
        yield from ()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(page, "_parts", cut)
    schema = tables.SCHEMAS[tables.GROUPS]
    with pytest.raises(OSError, match="No space left"):
        page.write_page(mock.Mock(), tmp_path / "diff.html")
    with pytest.raises(OSError, match="No space left"):
        tables._write(tmp_path / "groups.parquet", schema, cut(), "digest")

    assert list(tmp_path.iterdir()) == []
