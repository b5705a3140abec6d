"""A home moves to another disk with all files. Its old path leads to the new one."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.doctor import disk
from deploy.errors import StackError
from deploy.stack import move as move_module
from deploy.stack import room
from deploy.stack.home import Home, default_home
from deploy.stack.move import move
from deploy.stack.processes import identify
from deploy.stack.runtime import Runtime, ServiceRuntime, write_runtime
from tests.deploy.children import SLEEP
from tests.small_disk import mounted


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    found = Home(tmp_path / "here" / ".inventory")
    found.create()
    (found.path / "supervisor.lock").touch()
    (found.postgres).mkdir(mode=0o700)
    (found.postgres / "PG_VERSION").write_text("18")
    monkeypatch.setenv("INVENTORY_HOME", str(found.path))
    return found


def as_printed(command: str, home: Home) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell, exactly as it is printed. Return its result."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(  # noqa: S602 -- the line that a person would paste
        command,
        shell=True,
        env=os.environ | {"INVENTORY_HOME": str(home.path), "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_old_path_of_a_moved_home_is_a_link_to_the_new_path(home: Home, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        os.chown(home.postgres, 65534, 65534)
    before = home.postgres.stat()
    target = tmp_path / "larger" / "inventory"

    move(home, target)

    assert home.path.readlink() == target
    assert default_home() == target
    after = Home(default_home()).postgres.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (
        before.st_uid,
        before.st_gid,
        before.st_mode,
    )
    assert (target / "postgres" / "PG_VERSION").read_text() == "18"
    assert [path.name for path in home.path.parent.iterdir()] == [".inventory"]


def test_the_copy_is_on_the_disk_before_the_old_files_are_deleted(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    present: list[list[bool]] = []
    new = tmp_path / "new"
    places = home.postgres, tmp_path / "new.partial" / "postgres", new / "postgres"
    monkeypatch.setattr(os, "sync", lambda: present.append([path.exists() for path in places]))

    move(home, new)

    assert present == [[True, True, False], [True, False, True]]


def test_a_running_stack_and_a_taken_target_are_refused(home: Home, tmp_path: Path) -> None:
    with pytest.raises(StackError, match="expected a new directory") as taken:
        move(home, tmp_path)
    me = identify(os.getpid())
    write_runtime(home, Runtime(supervisor_pid=me.pid, supervisor_ticks=me.started))
    with pytest.raises(StackError, match="nothing was moved") as runs:
        move(home, tmp_path / "new")

    # The named directory exists already, so the repair names a new directory in it.
    assert taken.value.repair == f"inventory move {tmp_path}/retail-inventory-inventory"
    assert runs.value.repair == f"inventory down && inventory move {tmp_path / 'new'}"
    assert (home.postgres / "PG_VERSION").exists()
    home.runtime_file.unlink()
    moved = as_printed(taken.value.repair, home)
    assert moved.returncode == 0, moved.stderr
    assert home.path.readlink() == tmp_path / "retail-inventory-inventory"


def test_a_target_that_cannot_be_made_is_replaced_by_a_directory_with_room(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "larger_disk", lambda *_: tmp_path / "another disk")
    with pytest.raises(StackError, match="the home stays in") as refused:
        move(home, Path("/proc/nowhere/home"))
    monkeypatch.setattr(room, "larger_disk", lambda *_: None)
    with pytest.raises(StackError, match="GB free: attach one") as full:
        move(home, Path("/proc/nowhere/home"))
    moved = as_printed(refused.value.repair, home)

    assert (full.value.repair, moved.returncode) == ("", 0), moved.stderr
    assert home.path.readlink() == tmp_path / "another disk"


def test_a_service_that_outlives_its_supervisor_is_not_copied(home: Home, tmp_path: Path) -> None:
    """Postgres takes seconds to stop after its supervisor. A copy would be inconsistent."""
    left = subprocess.Popen(SLEEP)  # noqa: S603 -- our own program
    try:
        entry = ServiceRuntime(pid=left.pid, started_ticks=identify(left.pid).started)
        write_runtime(home, Runtime(services={"postgres": entry}))
        with pytest.raises(StackError, match="nothing was moved"):
            move(home, tmp_path / "new")
    finally:
        left.kill()
        left.wait(60)

    move(home, tmp_path / "new")

    assert home.path.readlink() == tmp_path / "new"


def test_a_stack_that_is_starting_is_not_moved(home: Home, tmp_path: Path) -> None:
    """A supervisor holds the lock before it has written its runtime file."""
    with (home.path / "supervisor.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(StackError, match="nothing was moved"):
            move(home, tmp_path / "new")

    assert (home.postgres / "PG_VERSION").exists()


def test_no_stack_starts_before_the_old_path_is_a_link(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stack that started in the old directory would lose its files with that directory."""
    lock = home.path / "supervisor.lock"
    held: list[bool] = []
    replace = move_module._replace_by_link

    def replace_by_link(old: Path, target: Path) -> bool:
        with lock.open("a") as other:
            try:
                fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                held.append(True)
            else:
                held.append(False)
        return replace(old, target)

    monkeypatch.setattr(move_module, "_replace_by_link", replace_by_link)

    move(home, tmp_path / "new")

    assert held == [True]


KILLED_MOVE = """
import os, shutil, signal, sys
from pathlib import Path

from deploy.stack import move as moves
from deploy.stack.home import Home

link = Path.symlink_to

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def linked(path, target):
    kill() if path.name == ".inventory" else link(path, target)

if sys.argv[1] == "before":
    moves.exchange = kill
else:
    Path.symlink_to = linked
    shutil.rmtree = lambda path, **_: kill() if str(path).endswith(".moved") else None
moves.move(Home(Path(sys.argv[2])), Path(sys.argv[3]))
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_killed_move_leaves_the_home_or_a_link_to_its_copy(
    home: Home, tmp_path: Path, when: str
) -> None:
    """Without both, the next start would make an empty home at the old path."""
    command = [sys.executable, "-c", KILLED_MOVE, when, str(home.path), str(tmp_path / "new")]
    killed = subprocess.run(command, check=False)  # noqa: S603 -- our own code

    assert killed.returncode == -signal.SIGKILL
    assert (default_home() / "postgres" / "PG_VERSION").read_text() == "18"
    assert move(Home(default_home()), tmp_path / "newer")
    assert default_home() == tmp_path / "newer"
    assert (default_home() / "postgres" / "PG_VERSION").read_text() == "18"


def test_a_file_system_that_can_exchange_nothing_gets_the_link_too(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Path) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(move_module, "exchange", refuse)

    assert move(home, tmp_path / "new")

    assert home.path.readlink() == tmp_path / "new"
    assert [path.name for path in home.path.parent.iterdir()] == [".inventory"]


def test_a_directory_of_another_purpose_is_not_moved(tmp_path: Path) -> None:
    with pytest.raises(StackError, match="was not created by"):
        move(Home(tmp_path), tmp_path.with_name("other"))


@pytest.fixture
def full(tmp_path: Path) -> Iterator[Path]:
    with mounted(tmp_path / "small", 4) as where:
        yield where


def test_a_full_disk_is_a_failure_whose_repair_moves_the_data(
    full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    larger = tmp_path / "larger"
    larger.mkdir()
    monkeypatch.setattr(room, "_USUAL", (str(larger),))
    home = Home(full / "home")
    home.create()
    (home.path / "supervisor.lock").touch()
    (home.path / "sales").write_bytes(bytes(1_000_000))
    with pytest.raises(OSError, match="No space left"):
        (full / "ballast").write_bytes(bytes(8_000_000))

    row = disk.disk(home)
    answers = [as_printed(command, home) for command in row.repair.split(" && ")[:2]]

    assert row.verdict == "failure"
    assert row.repair == (
        f"inventory down && inventory move {larger}/retail-inventory-home && inventory up --detach"
    )
    assert [each.returncode for each in answers] == [0, 0], answers
    assert (home.path / "sales").stat().st_size == 1_000_000
    assert home.path.readlink() == larger / "retail-inventory-home"


def test_a_home_that_is_a_mount_point_is_copied_and_leads_to_the_copy(
    full: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(full)
    (full / "supervisor.lock").touch()
    (full / "sales").write_bytes(bytes(1_000))
    (full / "lost+found").mkdir(mode=0)
    target = tmp_path / "larger" / "home"

    monkeypatch.setenv("INVENTORY_HOME", str(full))
    [_, move_there, _] = room.repair(home, target, free=0).split(" && ")
    with pytest.raises(OSError, match="No space left"):
        (full / "ballast").write_bytes(bytes(8_000_000))
    moved = as_printed(move_there, home)

    assert moved.returncode == 0, moved.stderr
    assert default_home() == target
    assert (full / "sales").exists()  # the old files remain until the operator has checked the copy
    assert sorted(path.name for path in target.iterdir()) == [
        *("ballast", "sales", "supervisor.lock"),
    ]
    assert (target.stat().st_mode, target.stat().st_uid) == (
        full.stat().st_mode,
        full.stat().st_uid,
    )


def test_a_home_that_cannot_be_renamed_is_copied_and_leads_to_the_copy(
    home: Home, tmp_path: Path
) -> None:
    """A rename fails if root owns the parent directory, or, as here, if the new name is taken."""
    (home.path.with_name(".inventory.moved") / "left").mkdir(parents=True)

    assert not move(home, tmp_path / "new")

    assert default_home() == tmp_path / "new"
    assert (tmp_path / "new" / "postgres" / "PG_VERSION").read_text() == "18"
    assert (home.postgres / "PG_VERSION").exists()


def test_the_advice_for_a_missing_copy_program_names_its_package() -> None:
    assert move_module._COPY.repair.endswith("apt-get install -y coreutils")


def test_a_supervisor_that_could_not_write_makes_the_disk_a_failure(home: Home) -> None:
    me = identify(os.getpid())
    runtime = Runtime(supervisor_pid=me.pid, supervisor_ticks=me.started)
    write_runtime(home, runtime)
    fresh = disk.disk(home)
    text = home.runtime_file.read_text().replace(str(runtime.written_at), "1.0")
    home.runtime_file.write_text(text)

    old = disk.disk(home)

    assert fresh.verdict in {"ok", "warning"}
    assert old.verdict == "failure"
    assert "runtime.json is" in old.found
