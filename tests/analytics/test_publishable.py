"""Reasons to refuse a run's publication. All of them can be checked without a broker."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from analytics.archive.manifest import BrokenArchive, Manifest
from analytics.archive.names import SOURCE
from analytics.archive.source import refuse_other_source, source_id, write_source_id
from analytics.backfill import publish_refusals
from analytics.backfill.plan import PLAN_FILE, Plan, UnknownRun, load, make_plan
from analytics.backfill.publish import publishable
from analytics.backfill.publish_refusals import NotPublishable
from analytics.backfill.run import RunReport, execute, runs_dir
from analytics.backfill.seal import RUN_FILE, RUN_MANIFEST, is_sealed, load_report, write_report
from analytics.backfill.status import status
from analytics.engines import code
from analytics.engines.results import DamagedResult
from cdc.settings import Connections
from inventory.revision import LOGIC_REVISION
from tests.analytics.histories import PARTITIONS, archived, generate

SOURCE_ID = "id-of-the-topic"
OF_RELEASE_2 = ("schema", "plan_sha256", "units_sha256", "seal")


@dataclass(frozen=True)
class Finished:
    """A finished run in its own home."""

    settings: Connections
    report: RunReport


@pytest.fixture(scope="module")
def computed(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """A run, and a copy of its home, from which each test restores the home at the same path."""
    home = tmp_path_factory.mktemp("publishable") / "home"
    settings = Connections(home=home, partitions=PARTITIONS)
    settings.archive_dir.mkdir(parents=True)
    write_source_id(settings.archive_dir, SOURCE_ID)
    manifest = archived(settings.archive_dir, generate(seed=2))
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    plan = make_plan(manifest, engine="local", ends=ends)
    report = execute(plan, runs_dir(settings))
    shutil.copytree(home, home.with_name("kept"))
    return Finished(settings, report)


@pytest.fixture
def finished(computed: Finished, monkeypatch: pytest.MonkeyPatch) -> Finished:
    # The clone may have uncommitted changes, which a publication refuses. Turn this check off.
    monkeypatch.setattr(publish_refusals, "uncommitted", tuple)
    home = computed.settings.home
    shutil.rmtree(home)
    shutil.copytree(home.with_name("kept"), home)
    return computed


def reason(finished: Finished, settings: Connections | None = None) -> str:
    with pytest.raises(NotPublishable) as refused:
        publishable(settings or finished.settings, finished.report.plan.run)
    return str(refused.value)


def change_plan(finished: Finished, **fields: object) -> None:
    """Write another plan with a valid seal. An accidental change would break the seal."""
    directory = finished.report.directory
    path = directory / PLAN_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
    write_report(directory, load_report(directory) or {})


def of_another_revision(finished: Finished) -> None:
    change_plan(finished, logic_revision=7)


def of_other_code(finished: Finished) -> None:
    change_plan(finished, code="0123456789abcdef")


def without_an_end(finished: Finished) -> None:
    (finished.report.directory / RUN_FILE).unlink()


def with_a_unit_less(finished: Finished) -> None:
    path = finished.report.directory / RUN_MANIFEST
    path.write_text("".join(path.read_text().splitlines(keepends=True)[1:]))


def without_its_results(finished: Finished) -> None:
    shutil.rmtree(finished.report.rows[0].directory)


def with_a_partition_less(finished: Finished) -> None:
    ends = finished.report.plan.ends
    change_plan(finished, ends={number: end for number, end in ends.items() if number != 1})


def of_another_topic(finished: Finished) -> None:
    change_plan(finished, source_topic_id="another")


def of_an_unknown_topic(finished: Finished) -> None:
    change_plan(finished, source_topic_id=None)


def with_a_shorter_archive(finished: Finished) -> None:
    """Write a valid archive again from fewer records."""
    shutil.rmtree(finished.settings.archive_dir)
    finished.settings.archive_dir.mkdir()
    write_source_id(finished.settings.archive_dir, SOURCE_ID)
    archived(finished.settings.archive_dir, generate(seed=2, records=300))


def with_another_archive(finished: Finished) -> None:
    """Write a valid archive of another history."""
    shutil.rmtree(finished.settings.archive_dir)
    finished.settings.archive_dir.mkdir()
    write_source_id(finished.settings.archive_dir, SOURCE_ID)
    archived(finished.settings.archive_dir, generate(seed=3, records=900))


@pytest.mark.parametrize(
    ("spoil", "told"),
    [
        (of_another_revision, f"has logic revision 7, but this code has {LOGIC_REVISION}"),
        (of_other_code, "rules with the hash 0123456789abcdef, but the rules here"),
        (without_an_end, "is unfinished: 0 of 3 units are missing"),
        (with_a_unit_less, "is unfinished: 1 of 3 units are missing"),
        (without_its_results, "the results of partition=0/bucket=0of1 in .* are gone"),
        (with_a_partition_less, r"was computed without partitions \[1\]"),
        (of_another_topic, f"with id another, but .* with id {SOURCE_ID}"),
        (of_an_unknown_topic, "with id None"),
        (with_a_shorter_archive, "ends at earlier offsets than run"),
        (with_another_archive, "holds other records of partition=0/bucket=0of1"),
    ],
)
def test_an_incomplete_run_or_one_of_other_rules_or_log_is_not_publishable(
    finished: Finished, spoil: Callable[[Finished], None], told: str
) -> None:
    spoil(finished)

    with pytest.raises((NotPublishable, DamagedResult), match=told) as refused:
        publishable(finished.settings, "last")
    assert "nothing was published" in str(refused.value)
    assert refused.value.step


def test_a_run_of_another_generation_is_refused(finished: Finished) -> None:
    later = finished.settings.model_copy(update={"generation": 2})

    assert "holds generation 1, but the stack's log is generation 2" in reason(finished, later)


def test_a_run_of_another_release_has_to_be_computed_again(finished: Finished) -> None:
    change_plan(finished, schema=1)

    with pytest.raises(UnknownRun, match="another release wrote run"):
        publishable(finished.settings, "last")


def change_report(finished: Finished, change: Callable[[dict[str, object]], object]) -> None:
    path = finished.report.directory / RUN_FILE
    report = json.loads(path.read_text())
    change(report)
    path.write_text(json.dumps(report))


@pytest.mark.parametrize("content", ['{"schema": 9}', "[]", "{"])
def test_a_report_of_another_release_is_refused_with_its_file(
    finished: Finished, content: str
) -> None:
    path = finished.report.directory / RUN_FILE
    path.write_text(content)

    for use in (
        lambda: publishable(finished.settings, "last"),
        lambda: execute(finished.report.plan, runs_dir(finished.settings)),
    ):
        with pytest.raises(UnknownRun, match=f"{path}: run record: "):
            use()
    (listed,) = status(finished.settings)["runs"]
    assert path.read_text() == content
    assert listed["finished"] is None
    assert listed["problem"].startswith(f"{path}: run record: ")


def test_a_run_report_without_a_schema_version_is_read_but_not_publishable(
    finished: Finished,
) -> None:
    (shown,) = status(finished.settings)["runs"]
    assert shown["finished"]
    assert "schema" not in shown

    change_report(finished, lambda report: [report.pop(name) for name in OF_RELEASE_2])

    assert status(finished.settings)["runs"] == [shown]
    with pytest.raises(UnknownRun, match="has no seal"):
        publishable(finished.settings, "last")
    report = execute(finished.report.plan, runs_dir(finished.settings))
    assert report.units_computed == 0
    assert is_sealed(report.directory)


def test_a_plan_comes_back_as_it_was_written(finished: Finished) -> None:
    plan: Plan = finished.report.plan

    assert load(finished.report.directory) == plan
    assert plan.source_topic_id == SOURCE_ID


def test_uncommitted_rule_changes_prevent_a_publication_and_are_named(
    finished: Finished, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    tree = tmp_path / "tree"
    (tree / "inventory").mkdir(parents=True)
    for name in "abcd":
        (tree / "inventory" / f"{name}.py").write_text("RULE = 1\n")
    monkeypatch.setattr(code, "ROOT", tree)
    assert code.uncommitted() == ()
    git = shutil.which("git")
    assert git is not None
    who = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    for command in (("init", "-q"), ("add", "."), (*who, "commit", "-qm", "rules")):
        subprocess.run([git, *command], cwd=tree, check=True)  # noqa: S603 -- fixed commands
    assert code.uncommitted() == ()

    for name in "abcd":
        (tree / "inventory" / f"{name}.py").write_text("RULE = 2\n")

    monkeypatch.setattr(publish_refusals, "code_hash", lambda: finished.report.plan.code)
    expected = "inventory/a.py, inventory/b.py, inventory/c.py, …"
    assert f"so no run can be published: {expected};" in reason(finished)


def test_an_archive_accepts_only_the_topic_id_that_it_stored_first(tmp_path: Path) -> None:
    assert source_id(tmp_path) is None
    refuse_other_source(tmp_path, "none yet")
    assert source_id(tmp_path) is None
    write_source_id(tmp_path, "one")
    write_source_id(tmp_path, "two")
    refuse_other_source(tmp_path, "one")

    with pytest.raises(BrokenArchive, match="id one, but the broker's topic has id two"):
        refuse_other_source(tmp_path, "two")

    (tmp_path / SOURCE).write_text("{}")
    with pytest.raises(BrokenArchive, match=r"source\.json: archive_source record: a field is"):
        source_id(tmp_path)


def test_the_run_name_depends_on_the_topic_id(finished: Finished) -> None:
    manifest = Manifest(finished.settings.archive_dir)
    (manifest.directory / SOURCE).unlink()

    other = make_plan(manifest, engine="local", ends=finished.report.plan.ends)

    assert other.run != finished.report.plan.run


def test_the_status_leaves_out_a_concurrently_discarded_run(
    finished: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    glob = Path.glob

    def with_one_more(directory: Path, pattern: str) -> Iterator[Path]:
        yield from glob(directory, pattern)
        yield directory / "moved-away" / PLAN_FILE

    monkeypatch.setattr(Path, "glob", with_one_more)

    (listed,) = status(finished.settings)["runs"]

    assert listed["run"] == finished.report.plan.run
