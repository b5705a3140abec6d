"""A stack that can't start prints the reason and the failed part's last log lines.

Uses real supervisors. Each starts a Postgres that can't start; no service gets ready.
"""

import fcntl
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.container import setup
from deploy.errors import StackError
from deploy.stack import daemon, room
from deploy.stack.context import Context, Options
from deploy.stack.daemon import sole_supervisor
from deploy.stack.home import PROJECT, Home
from deploy.stack.processes import alive
from deploy.stack.runtime import read_runtime
from deploy.stack.services import postgres, postgres_programs

pytestmark = pytest.mark.engines


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    found = Home(tmp_path / "home")
    yield found
    daemon.stop(found)


@pytest.fixture
def folder() -> Iterator[Path]:
    """Folder that the account of Postgres may enter, unlike pytest's own folders."""
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        yield Path(scratch)


def programs(folder: Path, **bodies: str) -> Path:
    """Return a folder of programs that replace the real ones. Each prints its version."""
    for name, body in bodies.items():
        (folder / name).write_text(f'#!/bin/sh\n[ "$1" = --version ] && exit 0\n{body}\n')
        (folder / name).chmod(0o755)
    return folder


def up(home: Home, only: str, **variables: str) -> tuple[int, str]:
    """Return the exit code of `inventory up` and its error text."""
    mine = {key: value for key, value in os.environ.items() if not key.startswith("INVENTORY_")}
    done = subprocess.run(  # noqa: S603 -- our own command
        [sys.executable, "-m", "deploy.cli.main", "up", "--detach", "--only", only],
        cwd=PROJECT,
        env=mine | {"INVENTORY_HOME": str(home.path)} | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


def test_a_failed_preparation_stops_the_stack_and_names_a_repair(home, folder) -> None:
    found = programs(folder, initdb="echo wrong locale >&2; exit 1", postgres="exit 1")

    code, told = up(home, "postgres", INVENTORY_POSTGRES_BIN=str(found))

    assert code == 1
    assert told == (
        f"error: initdb failed in {home.path}: wrong locale\n"
        "Its files were removed; no data was lost.\n"
        "repair: unset INVENTORY_POSTGRES_BIN && inventory up --detach\n"
    )
    assert {".postgres-new", "postgres"}.isdisjoint(path.name for path in home.path.iterdir())
    assert read_runtime(home).phase == "failed"
    assert not (home.path / ".initdb-password").exists()


def test_a_service_that_crashes_again_and_again_is_given_up_with_its_last_lines(
    home, folder
) -> None:
    crash = programs(folder, initdb="exit 0", postgres="echo no such file >&2; exit 1")

    code, told = up(home, "postgres", INVENTORY_POSTGRES_BIN=str(crash))

    assert code == 1
    assert "error: postgres did not become ready (crashed 5 times" in told
    assert "no such file" in told
    assert not any(map(alive, read_runtime(home).children()))


def test_parts_that_cannot_be_fetched_fail_the_start_before_anything_runs(
    home, folder, tmp_path
) -> None:
    maven = programs(folder, mvn="echo no network; exit 1")
    variables = {"PATH": f"{maven}:{os.environ['PATH']}"}

    code, told = up(home, "kafka", INVENTORY_CACHE=str(tmp_path / "cache"), **variables)

    assert code == 1
    assert told.startswith(
        "error: Maven could not download Kafka, Connect and Debezium:\nno network"
    )
    assert not home.path.exists()


def test_a_home_has_one_supervisor(home) -> None:
    home.create()
    with (home.path / "supervisor.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        code, told = up(home, "postgres")

    assert code == 1
    assert told == (
        "error: the supervisor did not start:\n"
        f"another supervisor runs in {home.path}; nothing was started\n\n"
        "repair: inventory logs supervisor\n"
    )


def test_only_the_owner_can_open_the_lock_of_a_home(home) -> None:
    home.create()
    lock = home.path / "supervisor.lock"
    lock.touch()
    lock.chmod(0o644)

    with sole_supervisor(home, StackError("another supervisor runs")):
        assert lock.stat().st_mode & 0o777 == 0o600


def test_a_container_without_its_variables_names_the_missing_one() -> None:
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("INVENTORY", "POSTGRES"))}
    told = subprocess.run(
        [sys.executable, "-m", "deploy.container.setup"],
        cwd=PROJECT, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert told.returncode == 1
    assert told.stderr == (
        "error: POSTGRES_HOST is not set: expected in the file .env beside docker-compose.yml\n"
        "repair: docker compose up --detach --wait\n"
    )


def test_a_container_reports_an_unreachable_database_in_one_line(tmp_path: Path) -> None:
    """The container's restart policy repeats the start, so the log must have short messages."""
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("INVENTORY", "POSTGRES"))}
    roles = ("POSTGRES", "RETAIL_OWNER", "APP_RW", "SINK_RW", "ARCHIVER", "APP_RO", "CDC")
    variables |= {f"{role}_PASSWORD": "canary" for role in roles}
    variables |= {"POSTGRES_HOST": "127.0.0.1", "POSTGRES_PORT": "1"}
    variables |= {"INVENTORY_HOME": str(tmp_path)}
    variables |= {"INVENTORY_OWNER_DATABASE_URL": "postgresql://retail_owner@127.0.0.1:1/retail"}
    told = subprocess.run(
        [sys.executable, "-m", "deploy.container.setup"],
        cwd=PROJECT, env=variables, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert told.returncode == 1
    assert told.stderr.startswith("error: connection failed")
    assert "canary" not in told.stderr


def test_a_container_names_its_own_command_after_a_failed_migration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`inventory logs` doesn't know the log `migrate`, so the message has the log's last lines."""
    roles = ("POSTGRES", "RETAIL_OWNER", "APP_RW", "SINK_RW", "ARCHIVER", "APP_RO", "CDC")
    names = [*(f"{role}_PASSWORD" for role in roles), "INVENTORY_CONNECT_PASSWORD"]
    names += ["POSTGRES_HOST", "INVENTORY_OWNER_DATABASE_URL", "INVENTORY_CONNECT_URL"]
    for name in names:
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    monkeypatch.setattr("deploy.stack.bootstrap.create_database", lambda _server: None)
    monkeypatch.setattr("sys.executable", "/bin/false")

    with pytest.raises(StackError, match="migrate --no-input failed") as refused:
        setup.main()

    assert refused.value.repair == "docker compose up --detach --wait"


@pytest.mark.parametrize(
    ("target", "repair", "told"),
    [
        (
            Path("/mnt/another disk"),
            "inventory down && inventory move '/mnt/another disk' && inventory up --detach",
            "no data was lost.",
        ),
        (None, "", "attach one and run this command again."),
    ],
)
def test_a_disk_that_fills_up_before_initdb_leaves_no_password(
    home, monkeypatch, target, repair, told
) -> None:
    def full(path: Path) -> None:
        if path.name == ".initdb-password":
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(room, "larger_disk", lambda _: target)
    monkeypatch.setattr(room, "FULL_GB", float("inf"))  # deleting files never frees enough
    monkeypatch.setattr(postgres, "_change_owner", full)
    monkeypatch.setattr(postgres_programs, "ensure", lambda: Path("/bin"))
    home.create()
    context = Context(home, Options(), {}, home.secrets())

    with pytest.raises(StackError, match="No space left") as failed:
        postgres.prepare(context)

    assert failed.value.repair == repair
    assert str(failed.value).endswith(told)
    assert not list(home.path.glob(".*-*"))
