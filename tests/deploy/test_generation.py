"""Data that `generation` moves out of a home before a new capture, and homes that it refuses."""

import getpass
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cdc.contracts.decode import decode
from deploy.cli.main import app
from deploy.errors import StackError
from deploy.stack.context import Context, Options
from deploy.stack.daemon import wait_ready
from deploy.stack.generation import (
    Generation,
    captured,
    generation_of,
    prepare,
    refuse_half_captured,
)
from deploy.stack.home import Home
from deploy.stack.processes import identify
from deploy.stack.runtime import Runtime, write_runtime
from deploy.stack.start_order import StartThread, build_context
from deploy.stack.supervisor import Supervisor
from inventory.fold.partition import FoldResult, Partition
from inventory.revision import LOGIC_REVISION
from tests.deploy.test_home import context
from tests.outcomes import applied
from tests.streams import facts


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home of a stack that ran once."""
    home = Home(tmp_path / "home")
    home.create()
    home.postgres.mkdir()
    home.kafka.mkdir()
    (home.kafka / "log").write_text("records")
    (home.path / "workers" / "topics.json").write_text("{}")
    return home


def test_a_home_begins_with_generation_1(home: Home) -> None:
    assert generation_of(home) == Generation(1, captured=True)
    assert context(home).variables()["INVENTORY_GENERATION"] == "1"


def test_prepare_moves_topics_archive_and_workers_away_but_not_the_database(home: Home) -> None:
    coming, aside = prepare(home)

    assert coming == generation_of(home) == Generation(2, captured=False)
    assert (aside / "kafka" / "log").read_text() == "records"
    assert (aside / "workers" / "topics.json").exists()
    assert (aside / "archive").is_dir()
    assert not home.kafka.exists()
    assert home.postgres.is_dir()


def test_an_interrupted_capture_is_refused_until_the_next_generation(home: Home) -> None:
    prepare(home)
    refuse_half_captured(home, Options())
    home.kafka.mkdir()

    with pytest.raises(StackError, match="capture of generation 2 was interrupted") as refused:
        build_context(home, Options())

    assert refused.value.repair == "inventory generation --yes"
    assert prepare(home)[0].number == 3
    refuse_half_captured(home, Options())


def test_a_start_after_an_interrupted_prepare_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[str] = []

    def move_one(place: Path, aside: Path) -> None:
        if moved:
            raise PermissionError(place)
        moved.append(place.name)
        place.rename(aside)

    monkeypatch.setattr("shutil.move", move_one)
    with pytest.raises(PermissionError):
        prepare(home)

    with pytest.raises(StackError, match="generation 2 was interrupted"):
        build_context(home, Options())


@pytest.mark.parametrize(
    ("only", "missing"),
    [
        (("postgres", "kafka"), "connect"),
        (("postgres", "kafka", "connect", "worker-1"), "connector"),
        (("migrate",), "postgres"),
    ],
)
def test_a_start_of_some_parts_makes_no_capture(
    home: Home, only: tuple[str, ...], missing: str
) -> None:
    prepare(home)

    with pytest.raises(StackError, match=f"generation 2 .* {missing} has to start") as refused:
        build_context(home, Options(only=only))

    assert refused.value.repair == "inventory up --detach"
    assert not generation_of(home).captured
    refuse_half_captured(home, Options())


def test_generation_with_own_rules_moves_other_revisions_away(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home.path / "revisions" / "v2" / "logs").mkdir(parents=True)
    monkeypatch.setenv("INVENTORY_HOME", str(home.path))

    done = CliRunner().invoke(app, ["generation", "--yes", "--own-rules"])

    assert done.exit_code == 0, done.output
    assert f"logic revision {LOGIC_REVISION}, of this code, decides from then on" in done.output
    assert generation_of(home) == Generation(2, captured=False, own_rules=getpass.getuser())
    assert (home.path / "former" / "generation-1" / "revisions" / "v2" / "logs").is_dir()
    assert not (home.path / "revisions").exists()


def test_own_rules_of_an_interrupted_generation_apply_to_the_next_one(home: Home) -> None:
    prepare(home, "ann")
    assert prepare(home)[0] == Generation(3, captured=False, own_rules="ann")

    captured(home)

    assert generation_of(home) == Generation(3)
    assert prepare(home)[0] == Generation(4, captured=False)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"number": "2"}', '{"epoch": 2}', '{"own_rules": true}', "7"],
)
def test_a_damaged_generation_file_is_reported_in_one_line(home: Home, content: str) -> None:
    (home.path / "generation.json").write_text(content)

    with pytest.raises(StackError, match=r"generation\.json: expected the number of"):
        build_context(home, Options())


def test_prepare_refuses_a_running_stack_other_revisions_or_a_missing_database(home: Home) -> None:
    me = identify(os.getpid())
    write_runtime(home, Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started))
    with pytest.raises(StackError, match="the stack runs"):
        prepare(home)
    write_runtime(home, Runtime(phase="down"))

    beside = home.path / "revisions" / "v2"
    beside.mkdir(parents=True)
    with pytest.raises(StackError, match="would be moved away: v2") as refused:
        prepare(home)
    assert refused.value.repair == "inventory generation --yes --own-rules"
    write_runtime(
        Home(beside), Runtime("ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    )
    with pytest.raises(StackError, match="the stack runs"):
        prepare(home, "ann")
    shutil.rmtree(beside)

    home.postgres.rmdir()
    with pytest.raises(StackError, match="no database to capture"):
        prepare(home)
    assert generation_of(home).number == 1


def test_readers_start_only_after_the_capture_has_finished(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare(home)
    steps: list[str] = []
    nothing = Options(only=("migrate",))
    ports = {"postgres": 1, "kafka": 2, "connect": 3, "kafka_controller": 4, "web": 5}
    start = StartThread(Context(home, nothing, ports, home.secrets()), Supervisor(home, Runtime()))
    monkeypatch.setattr(
        "deploy.stack.recapture.refuse_too_many", lambda _url: steps.append("counted")
    )
    monkeypatch.setattr("deploy.stack.capture.publish_tables", lambda _: steps.append("published"))
    monkeypatch.setattr(
        "deploy.stack.recapture.forget_former_topics", lambda *_: steps.append("settled")
    )
    monkeypatch.setattr("deploy.stack.recapture.finish", lambda *_: steps.append("concluded"))
    monkeypatch.setattr(start, "_capture", lambda *_: steps.append("captured"))

    def applications(**_: object) -> list[object]:
        steps.append("readers")
        return []

    monkeypatch.setattr(start, "_applications", applications)

    start._start_all()

    assert steps == [
        *("counted", "published", "settled", "captured", "concluded"),
        *("readers", "readers"),
    ]


def test_a_captured_row_opens_no_need_but_a_later_policy_record_does() -> None:
    at_us, generation = facts.DAY_0_US, 2
    policy = facts.ranged(id_=1, at_us=at_us)
    captured = (
        ("stock_count", facts.count(id_=1, at_us=at_us, units=2)),
        ("item_location", policy),
    )
    partition = Partition(generation)

    def apply(offset: int, table: str, op: str, **images: dict[str, object]) -> FoldResult:
        content = facts.change(table, op=op, lsn=offset, commit_us=at_us + offset, **images)
        return partition.apply(decode(facts.KEY.encode(), content, offset=offset))

    opened = [
        applied(apply(at, table, "r", after=row)).outputs
        for at, (table, row) in enumerate(captured)
    ]
    assert opened == [(), ()]

    [need] = applied(apply(2, "item_location", "u", before=policy, after=policy)).outputs
    assert need.id == f"R:{facts.KEY}:2-2"


def test_the_start_timeout_does_not_apply_during_a_capture(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    me = identify(os.getpid())
    starting = Runtime(supervisor_pid=me.pid, supervisor_ticks=me.started, phase="starting")
    starting.steps = [{"step": "connector", "seconds": 1_000.0}]
    prepare(home)
    write_runtime(home, starting)
    monkeypatch.setattr("deploy.stack.daemon._START_S", -1.0)

    def serve(_step: object) -> None:
        write_runtime(home, replace(starting, phase="ready"))

    assert wait_ready(home, serve).phase == "ready"
    write_runtime(home, starting)
    captured(home)
    with pytest.raises(StackError, match="still starting"):
        wait_ready(home)
