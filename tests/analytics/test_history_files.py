"""Files of history tables are written once, and are complete or absent after an interruption."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from analytics.archive.entries import BrokenArchive
from analytics.backfill.diff.scratch import Scratch
from analytics.backfill.diff.tables import write_tables
from analytics.backfill.plan import directory_of
from analytics.backfill.run import runs_dir
from analytics.backfill.seal import RUN_FILE
from analytics.engines.results import DamagedResult
from analytics.history import build
from analytics.history.build import TablesInUse
from analytics.history.catalogue import BY_NAME
from analytics.history.opened import NoHistory, Request, open_history
from analytics.locks import exclusive
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION
from tests.analytics import two_runs
from tests.analytics.histories import PARTITIONS, generate
from tests.analytics.history_homes import SMALL, a_small_home, rows
from tests.analytics.two_runs import Home, a_home


@pytest.fixture(name="fresh")
def a_home_of_the_test(tmp_path: Path) -> Home:
    return a_small_home(tmp_path)


def test_a_second_command_writes_nothing(fresh: Home) -> None:
    history = open_history(fresh.settings, Request())
    before = {path: Path(path).stat().st_mtime_ns for files in history.files.values()
              for path in files}  # fmt: skip

    again = open_history(fresh.settings, Request(run=history.run))

    assert again.partitions_written == 0
    assert again.files == history.files
    assert {path: Path(path).stat().st_mtime_ns for path in before} == before


def test_an_interrupted_command_continues_with_the_next_partition(fresh: Home) -> None:
    done: list[tuple[str, int, int]] = []

    def stop_after_two(group: str, finished: int, missing: int) -> None:
        done.append((group, finished, missing))
        if len(done) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        open_history(fresh.settings, Request(), stop_after_two)
    resumed = open_history(fresh.settings, Request(), lambda *step: done.append(step))

    assert done[:3] == [("log", 1, PARTITIONS), ("log", 2, PARTITIONS), ("log", 1, 1)]
    assert resumed.partitions_written == 2 * PARTITIONS - 2
    assert not list(fresh.settings.home.rglob("*.tmp"))


@pytest.mark.parametrize("table", ["sales", "states"])
def test_a_removed_or_cut_file_is_written_again(fresh: Home, table: str) -> None:
    first = open_history(fresh.settings, Request())
    contents = [Path(path).read_bytes() for path in first.files[table]]
    Path(first.files[table][0]).unlink()
    Path(first.files[table][1]).write_bytes(contents[1][:50])

    again = open_history(fresh.settings, Request())

    assert again.partitions_written == 2
    assert [Path(path).read_bytes() for path in again.files[table]] == contents


def test_a_new_content_revision_rewrites_every_table(
    fresh: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_history(fresh.settings, Request())
    monkeypatch.setattr(build, "CONTENT_REVISION", build.CONTENT_REVISION + 1)

    assert open_history(fresh.settings, Request()).partitions_written == 2 * PARTITIONS


def test_a_failure_leaves_no_unfinished_file(fresh: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_given: object) -> None:
        raise OSError(28, "No space left on device", "part-0")

    with monkeypatch.context() as patch:
        patch.setattr(build, "_take_facts", full)
        with pytest.raises(OSError, match="No space"):
            open_history(fresh.settings, Request())

    assert [path.name for path in fresh.settings.home.glob("backfill/tables/**/*.tmp")] == []
    assert open_history(fresh.settings, Request()).partitions_written == 2 * PARTITIONS


def test_two_commands_never_write_the_same_tables(fresh: Home) -> None:
    found = open_history(fresh.settings, Request())
    [log] = [group for group in found.groups if group.name == "log"]
    Path(found.files["log"][0]).unlink()

    with exclusive(log.directory / "log.lock"), pytest.raises(TablesInUse, match="writes these"):
        open_history(fresh.settings, Request())


def test_the_log_table_ends_at_the_end_of_the_run_or_of_the_archive(fresh: Home) -> None:
    half = fresh.run(ends={0: 20, 1: 0, 2: 7})

    read = open_history(fresh.settings, Request(run=half))
    whole = open_history(fresh.settings, Request(run=half, whole_archive=True))

    assert len(rows(read, "log")) == 27
    assert len(rows(whole, "log")) == sum(map(len, SMALL.log.values()))
    assert len(rows(read, "states")) == len(rows(whole, "states"))


def test_tables_go_to_another_directory(fresh: Home, tmp_path: Path) -> None:
    found = open_history(fresh.settings, Request(out=tmp_path / "out"))

    assert set(found.files) == {path.name for path in (tmp_path / "out").iterdir()
                                if path.is_dir() and path.name != "_written"}  # fmt: skip
    assert not (fresh.settings.home / "backfill" / "tables").exists()
    whole = pq.read_table(tmp_path / "out" / "sales", partitioning=None)
    assert whole.num_rows == len(rows(found, "sales"))


def test_without_a_run_only_the_log_tables_exist(tmp_path: Path) -> None:
    home = a_home(tmp_path / "home", generate(seed=3))

    found = open_history(home.settings, Request())

    assert found.run is None
    assert "sales" in found.files
    assert "states" not in found.files


def test_without_an_archive_the_next_step_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoHistory, match="nothing is archived yet") as refused:
        open_history(Connections(home=tmp_path), Request())

    assert "inventory backfill run" in refused.value.step


def test_an_unfinished_run_is_refused(fresh: Home) -> None:
    (directory_of(runs_dir(fresh.settings), "last") / RUN_FILE).unlink()

    with pytest.raises(NoHistory, match="is unfinished") as refused:
        open_history(fresh.settings, Request())
    assert "--run" in refused.value.step


@pytest.mark.parametrize("name", ["last", str(LOGIC_REVISION)])
def test_while_another_run_computes_the_newest_finished_run_is_read(fresh: Home, name: str) -> None:
    finished = open_history(fresh.settings, Request()).run
    computing = fresh.run(ends={0: 20, 1: 0, 2: 7})
    (runs_dir(fresh.settings) / computing / RUN_FILE).unlink()

    assert open_history(fresh.settings, Request(run=name)).run == finished
    with pytest.raises(NoHistory, match=f"run {computing} is unfinished"):
        open_history(fresh.settings, Request(run=computing))


def test_damage_is_found_before_a_table_is_written(fresh: Home) -> None:
    run = directory_of(runs_dir(fresh.settings), "last")
    [states, *_] = sorted(run.glob("results/**/states.parquet"))
    content = states.read_bytes()
    states.write_bytes(content[:-1] + b"!")
    with pytest.raises(DamagedResult, match=r"states\.parquet: changed"):
        open_history(fresh.settings, Request())
    [archived, *_] = sorted(fresh.settings.archive_dir.glob("partition=*/*.parquet"))
    archived.write_bytes(b"!")
    with pytest.raises(BrokenArchive, match="1 bytes, expected"):
        open_history(fresh.settings, Request(out=fresh.settings.home / "out"))


def test_diff_files_of_two_runs_become_history_tables(fresh: Home, tmp_path: Path) -> None:
    with Scratch() as scratch:
        names = fresh.run(), fresh.run(two_runs.one_pack_more)
        write_tables(fresh.compare(*names, scratch), tmp_path / "diff")

    found = open_history(fresh.settings, Request(diff=tmp_path / "diff"))

    for name in ("diff_reorders", "diff_prices", "diff_groups"):
        [path] = found.files[name]
        assert pq.read_schema(path).names == list(BY_NAME[name].names)
    with pytest.raises(NoHistory, match=r"reorders\.parquet: no such file"):
        open_history(fresh.settings, Request(diff=tmp_path))
