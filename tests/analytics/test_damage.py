"""Damage to archive, manifest and results is detected before anything is published or folded."""

import re
import shlex
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from analytics.analyst_views import state_files
from analytics.archive.checked import checked_rows
from analytics.archive.entries import UNLISTED
from analytics.archive.manifest import BrokenArchive, Manifest
from analytics.archive.names import MANIFEST
from analytics.archive.ring import ring_at
from analytics.backfill import publish, publish_refusals
from analytics.backfill.discard import discard
from analytics.backfill.history import PartitionHistory
from analytics.backfill.lock import TAKEN, RunInUse, only_run
from analytics.backfill.plan import Plan, directory_of, load, make_plan
from analytics.backfill.publish_refusals import NotPublishable
from analytics.backfill.run import execute, runs_dir
from analytics.backfill.units import finished_units
from analytics.damage import Damage
from analytics.engines.results import STATES, DamagedResult, read_rows
from analytics.engines.unit import ManifestRow
from analytics.explain_history import _of_file
from deploy.cli import main as commands
from deploy.cli.main import app
from deploy.revisions.publish import publish as publish_run
from tests.analytics.damage import Case, a_case, changes
from tests.house.sources import PACKAGES, name, python_files

pytestmark = pytest.mark.engines

CHANGES = 200


def test_each_of_200_random_changes_is_detected_before_anything_is_published(
    tmp_path: Path,
) -> None:
    made = list(changes(tmp_path, seed=14, count=CHANGES))

    assert len(made) == CHANGES
    assert [change for change in made if change.refusal is None] == []
    assert len(Counter(change.kind for change in made)) >= 15
    without = [change for change in made if "nothing was" not in str(change.refusal)]
    assert [change for change in without if "it was not read" not in str(change.refusal)] == []


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return a_case(tmp_path_factory.mktemp("home"), seed=3)


@pytest.fixture
def case(sound: Case, monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    """Yield a case with undamaged files, and restore its files after the test."""
    monkeypatch.setattr(publish_refusals, "uncommitted", tuple)  # the clone may have changes
    yield sound
    sound.restore()


def archive_file(case: Case) -> Path:
    return min(case.settings.archive_dir.glob("partition=1/*.parquet"))


def units_of_run(case: Case) -> tuple[Path, list[ManifestRow]]:
    directory = directory_of(runs_dir(case.settings), case.run)
    return directory, list(finished_units(directory, load(directory)).values())


def with_changed_rows(path: Path) -> None:
    """Write valid Parquet with another value in 20 rows."""
    table = pq.read_table(path)
    rows = table.to_pylist()
    for row in rows[:20]:
        row["kafka_timestamp_ms"] += 1
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path, compression="zstd")


def missing(path: Path) -> None:
    path.unlink()


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def swapped(path: Path) -> None:
    path.write_bytes(next(path.parent.parent.glob("partition=2/*.parquet")).read_bytes())


@pytest.mark.parametrize("spoil", [with_changed_rows, missing, cut_off, swapped])
def test_every_reader_refuses_an_archive_file_that_differs_from_the_manifest(
    case: Case, spoil: Callable[[Path], None]
) -> None:
    path = archive_file(case)
    spoil(path)
    manifest = Manifest(case.settings.archive_dir)
    file = manifest.files(1)[0]
    end = manifest.next_offset(1)

    for read in (
        lambda: next(checked_rows(manifest.directory, file.source)),
        lambda: next(_of_file(manifest, file, b"L1|S1")),
        lambda: ring_at(manifest, 1, end, newest_commit_us=None, streamed=False),
        lambda: publish_run(case.settings, case.run, print),
    ):
        with pytest.raises(BrokenArchive) as refused:
            read()
        assert f"{path} (stock.events[1]@0 to {file.next_offset}): " in str(refused.value)
        assert "rearchive --yes" in refused.value.step


def test_readers_of_a_run_check_its_results(case: Case) -> None:
    directory, rows = units_of_run(case)
    path = Path(rows[0].directory) / f"{STATES}.parquet"
    table = pq.read_table(path)
    pq.write_table(table.slice(1), path, compression="zstd")
    manifest = Manifest(case.settings.archive_dir)
    history = PartitionHistory(0, 1, rows[0].end, (rows[0],), manifest)

    for read in (
        lambda: next(read_rows(rows[0], STATES)),
        lambda: next(history.states()),
        lambda: state_files(directory),
        lambda: execute(load(directory), runs_dir(case.settings)),
    ):
        with pytest.raises(DamagedResult) as refused:
            read()
        assert f"{path}: changed: " in str(refused.value)
        assert f"`inventory backfill discard {case.run} --yes`" in refused.value.step


def test_the_printed_next_step_repairs_a_damaged_run(case: Case) -> None:
    directory, rows = units_of_run(case)
    (Path(rows[0].directory) / f"{STATES}.parquet").unlink()
    plan = load(directory)

    aside = discard(directory)
    report = execute(plan, runs_dir(case.settings))

    assert aside == case.settings.home / "former" / "runs" / f"{case.run}-1"
    assert report.units_computed == len(plan.units)
    assert case.refusal() is None


def test_an_unlisted_file_is_refused_until_the_printed_command_moves_it_away(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(case.settings.home))
    path = archive_file(case)
    ahead = path.with_name("seq-000000990000-000000990009.parquet")
    shutil.copy(path, ahead)
    assert case.refusal() is None

    shutil.copy(path, path.with_name("copy.parquet"))

    said = str(case.refusal())
    assert "copy.parquet: no line of the manifest lists this file" in said
    assert f"`{UNLISTED}` moves it away" in said
    listed = CliRunner().invoke(app, ["backfill", "clean"])
    assert f"1 unused file or directory, 0.0 MB in runs: kept; `{UNLISTED}`" in listed.output
    assert path.with_name("copy.parquet").exists()

    done = CliRunner().invoke(app, shlex.split(UNLISTED)[1:])

    position = path.with_name("copy.parquet").relative_to(case.settings.archive_dir)
    assert done.exit_code == 0, done.output
    assert (case.settings.home / "former" / "unlisted-1" / position).exists()
    assert ahead.exists()
    assert case.refusal() is None


def test_manifest_bytes_after_the_head_are_refused_until_the_archiver_cuts_them(case: Case) -> None:
    path = case.settings.archive_dir / MANIFEST
    with path.open("ab") as stream:
        stream.write(b'{"schema":2')

    with pytest.raises(NotPublishable, match="ends with 11 bytes that its head file doesn't cover"):
        publish.examined(case.settings, *planned(case), tail_wait_s=0.0)

    Manifest(case.settings.archive_dir).recover()
    assert case.refusal() is None


def planned(case: Case) -> tuple[Path, Plan]:
    directory = directory_of(runs_dir(case.settings), case.run)
    return directory, load(directory)


def test_a_concurrent_run_of_the_same_plan_is_refused_with_its_own_exit_code(
    case: Case, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    directory, plan = planned(case)

    with only_run(directory), pytest.raises(RunInUse, match="is in use by process") as refused:
        execute(plan, runs_dir(case.settings))
    assert execute(plan, runs_dir(case.settings)).units_computed == 0

    def second() -> None:
        raise refused.value

    monkeypatch.setattr(commands, "app", second)
    with pytest.raises(SystemExit) as ended:
        commands.main()
    assert ended.value.code == TAKEN
    assert "`inventory backfill status` shows its progress" in capsys.readouterr().err


def test_no_plan_is_made_for_a_damaged_archive(case: Case) -> None:
    manifest = Manifest(case.settings.archive_dir)
    ends = {number: manifest.next_offset(number) for number in range(3)}
    archive_file(case).unlink()

    with pytest.raises(BrokenArchive, match="No such file"):
        make_plan(manifest, engine="local", ends=ends)


def test_only_the_checking_reader_opens_archive_files() -> None:
    """A new reader must use `checked_rows`. Only `former.py` can't: no manifest lists its files."""
    imported = re.compile(r"analytics\.archive\.rows import [^)\n]*\bread\b")
    users = {
        name(path) for path in python_files(*PACKAGES) if imported.search(path.read_text("utf-8"))
    }

    assert users == {"analytics/archive/checked.py", "analytics/archive/former.py"}


def test_a_damage_message_has_the_problem_the_kept_data_and_the_next_step() -> None:
    error = Damage("the file has 3 bytes", "nothing was published", "start it again")

    assert str(error) == "the file has 3 bytes; nothing was published; start it again"
