"""`backfill rearchive` moves an archive away, and the archiver writes it again from offset 0."""

import fcntl
import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TextIO

import pytest
from typer.testing import CliRunner, Result

from analytics import kafka
from analytics.archive.entries import BrokenArchive
from analytics.archive.follow import only_archiver
from analytics.archive.manifest import Manifest
from analytics.archive.names import HEAD, LOCK, MANIFEST, RELEASE_REQUEST
from analytics.archive.rebuilt import BEHIND, DIFFERS, EQUAL, UNREADABLE
from analytics.archive.writer import open_writers
from cdc.settings import Connections
from deploy.cli import backfill_options
from deploy.cli.main import app
from deploy.doctor.archive import archive as doctor_archive
from deploy.errors import StackError
from deploy.stack.home import Home
from tests.analytics.histories import PARTITIONS, archived, generate

WITHIN_S = 60.0
COMMAND = "inventory backfill rearchive --yes"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write an archive of 40 records into a new home and return its folder."""
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    monkeypatch.setattr("deploy.cli.backfill_rearchive.RELEASED_S", 0.3)
    archived(tmp_path / "archive", generate(seed=1, records=40))
    return tmp_path / "archive"


def rearchive(*options: str) -> Result:
    return CliRunner().invoke(app, ["backfill", "rearchive", *options])


def refusal(*options: str) -> StackError:
    refused = rearchive(*options).exception
    assert isinstance(refused, StackError)
    return refused


def test_rearchive_moves_the_archive_away_each_time_it_runs(archive: Path) -> None:
    history = generate(seed=1, records=40)
    before = Manifest(archive).all_files()

    for number in (1, 2):
        done = rearchive("--yes")

        assert done.exit_code == 0, done.output
        aside = archive.parent / "former" / f"archive-{number}"
        assert Manifest(aside).all_files() == before
        assert Manifest(archive).all_files() == ()
        assert archived(archive, history).all_files() == before


def test_rearchive_requires_yes_and_a_nonempty_archive(archive: Path) -> None:
    unasked = refusal()
    assert unasked.repair == COMMAND
    assert Manifest(archive).all_files()

    rearchive("--yes")

    assert "nothing is archived yet" in str(refusal("--yes"))


def test_rearchive_is_refused_while_an_archiver_holds_the_lock(archive: Path) -> None:
    with only_archiver(archive):
        refused = refusal("--yes")

    assert "an archiver has held the lock of this archive" in str(refused)
    assert refused.repair == f"inventory down && {COMMAND}"
    assert Manifest(archive).all_files()


def test_a_running_archiver_gives_its_lock_to_the_command(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.cli.backfill_rearchive.RELEASED_S", WITHIN_S)
    holds = threading.Event()

    def follow() -> None:
        """Run the part of the archiver's loop that looks for the request."""
        with only_archiver(archive):
            holds.set()
            deadline = time.monotonic() + WITHIN_S
            while not (archive / RELEASE_REQUEST).exists() and time.monotonic() < deadline:
                time.sleep(0.01)

    archiver = threading.Thread(target=follow)
    archiver.start()
    assert holds.wait(WITHIN_S)

    done = rearchive("--yes")
    archiver.join()

    assert done.exit_code == 0, done.output
    aside = archive.parent / "former" / "archive-1"
    assert Manifest(aside).all_files()
    assert not (aside / RELEASE_REQUEST).exists()


@pytest.mark.parametrize("made_again", [False, True])
def test_a_lock_file_that_was_moved_with_its_archive_locks_nothing(
    archive: Path, monkeypatch: pytest.MonkeyPatch, *, made_again: bool
) -> None:
    flock = fcntl.flock

    def moved_meanwhile(stream: TextIO, how: int) -> None:
        """Move the archive away after its lock file was opened and before the lock is taken."""
        archive.rename(archive.with_name("aside"))
        if made_again:
            archived(archive, generate(seed=1, records=40))
            (archive / LOCK).touch()
        flock(stream, how)

    monkeypatch.setattr(fcntl, "flock", moved_meanwhile)
    with only_archiver(archive) as mine:
        assert not mine
    monkeypatch.setattr(fcntl, "flock", flock)

    with only_archiver(archive) as mine:
        assert mine


def flip_a_byte(archive: Path) -> None:
    path = archive / Manifest(archive).all_files()[-1].file
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def remove_a_line(archive: Path) -> None:
    path = archive / MANIFEST
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))


def remove_a_file(archive: Path) -> None:
    (archive / Manifest(archive).all_files()[0].file).unlink()


def add_a_file(archive: Path) -> None:
    (archive / Manifest(archive).all_files()[0].file).with_name("more.parquet").touch()


@pytest.mark.parametrize("damage", [flip_a_byte, remove_a_line, remove_a_file, add_a_file])
def test_the_doctor_names_damage_and_its_command_repairs_it(
    archive: Path, damage: Callable[[Path], None]
) -> None:
    home = Home(archive.parent)
    assert doctor_archive(home).verdict == "ok"

    damage(archive)
    row = doctor_archive(home)
    repaired = CliRunner().invoke(app, row.repair.split()[1:])

    assert (row.verdict, str(archive) in row.found) == ("failure", True)
    assert repaired.exit_code == 0, repaired.output
    assert doctor_archive(home).verdict == "ok"


def lose(*names: str) -> Callable[[Path], None]:
    def remove(archive: Path) -> None:
        for name in names:
            (archive / name).unlink()

    return remove


def lose_the_head_and_empty_the_manifest(archive: Path) -> None:
    lose(HEAD)(archive)
    (archive / MANIFEST).write_bytes(b"")


def spoiled(archive: Path) -> None:
    """Damage the content of one file of partition 1, without a change of its size."""
    path = min(archive.glob("partition=1/*.parquet"))
    path.write_bytes(path.read_bytes()[:-9] + b"*changed*")


@pytest.mark.parametrize(
    "damage",
    [lose(MANIFEST), lose(HEAD), lose(MANIFEST, HEAD), lose_the_head_and_empty_the_manifest],
)
def test_a_lost_manifest_is_refused_and_its_files_are_kept_until_they_are_compared(
    archive: Path, damage: Callable[[Path], None]
) -> None:
    history = generate(seed=1, records=40)
    files = len(Manifest(archive).all_files())
    records = sum(map(len, history.log.values()))
    damage(archive)

    with pytest.raises(BrokenArchive, match="missing") as refused:
        open_writers(archive, partitions=PARTITIONS, generation=1)
    assert f"`{COMMAND}`" in refused.value.step
    assert doctor_archive(Home(archive.parent)).repair.startswith(COMMAND)
    moved = rearchive("--yes")
    early = rearchive("--report", "--json")
    archived(archive, history, roll_every=11)
    done = rearchive("--report", "--json")

    assert moved.exit_code == 0, moved.output
    assert f"{files} files with {records} records in {archive.parent / 'former'}" in moved.output
    assert "`inventory backfill rearchive --report` compares both" in moved.output
    assert early.exit_code == 1
    assert json.loads(early.stdout)["verdicts"] == {BEHIND: PARTITIONS}
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["verdicts"] == {EQUAL: PARTITIONS}
    for row in found["partitions"]:
        assert row["former_records"] == row["records"] == len(history.log[row["partition"]])
        assert row["former_digest"] == row["digest"]


def test_the_report_names_what_differs_and_what_cannot_be_read(archive: Path) -> None:
    spoiled(archive)
    rearchive("--yes")
    history = generate(seed=1, records=40)
    history.log[0][3] = replace(history.log[0][3], value=b"{}")
    history.log[2].append(replace(history.log[2][0], offset=len(history.log[2])))
    archived(archive, history)

    done = rearchive("--report")
    rows = json.loads(rearchive("--report", "--json").stdout)["partitions"]

    assert done.exit_code == 1
    assert [row["verdict"] for row in rows] == [DIFFERS, UNREADABLE, EQUAL]
    assert rows[0]["former_records"] == rows[0]["records"]
    assert rows[0]["former_digest"] != rows[0]["digest"]
    assert rows[1]["former_records"] == rows[1]["records"] < len(history.log[1])
    assert (
        f"file of the former archive not read: {archive.parent / 'former' / 'archive-1'}"
        in done.output
    )
    assert "partitions: 1 differs, 1 unreadable, 1 equal" in done.output


def test_a_report_needs_a_former_archive(archive: Path) -> None:
    refused = refusal("--report")

    assert "holds no former archive; nothing was compared" in str(refused)
    assert refused.repair == COMMAND
    assert Manifest(archive).all_files()


# Tests with a running stack.


def with_stack(monkeypatch: pytest.MonkeyPatch, archive: Path, first: dict[int, int]) -> None:
    """Set a broker whose topic begins at these offsets. The topic's end can't be read."""
    known = Connections(home=archive.parent, partitions=PARTITIONS, kafka_bootstrap="127.0.0.1:1")

    def unreadable(*_topic: object) -> dict[int, int]:
        problem = "the topic was truncated"
        raise kafka.TopicUnreadable(problem)

    monkeypatch.setattr(backfill_options, "settings_for", lambda _until: known)
    monkeypatch.setattr(kafka, "start_offsets", lambda *_topic: first)
    monkeypatch.setattr(kafka, "end_offsets", unreadable)


def test_an_archive_whose_topic_lacks_its_first_records_stays(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Manifest(archive).all_files()
    with_stack(monkeypatch, archive, {0: 0, 1: 7, 2: 0})

    refused = refusal("--yes")

    assert "Nothing was moved. First offsets by partition: {1: 7}" in str(refused)
    assert Manifest(archive).all_files() == before


def test_an_archive_that_the_stack_did_not_write_again_is_exit_code_1(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_stack(monkeypatch, archive, dict.fromkeys(range(PARTITIONS), 0))

    done = rearchive("--yes")

    assert done.exit_code == 1, done.output
    assert "not written again yet: the topic was truncated" in done.output


def test_an_archive_that_differs_after_it_was_written_again_is_exit_code_1(
    archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other(*_given: object) -> str:
        history = generate(seed=1, records=40)
        history.log[0][3] = replace(history.log[0][3], value=b"{}")
        archived(archive, history)
        return ""

    monkeypatch.setattr("deploy.cli.backfill_rearchive._written_again", other)

    done = rearchive("--yes")

    assert done.exit_code == 1, done.output
    assert "1 differs" in done.output
