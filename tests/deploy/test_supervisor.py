"""Child processes are restarted with a growing delay, counted, and all ended."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from deploy.stack import control
from deploy.stack.home import Home
from deploy.stack.processes import (
    ProcessId,
    alive,
    end,
    identify,
    spawn,
    suspended,
    wait_until,
)
from deploy.stack.runtime import Runtime, ServiceRuntime, read_runtime, write_runtime
from deploy.stack.service import Service
from deploy.stack.supervisor import Supervisor, delay_after

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")
STUBBORN = (
    sys.executable,
    "-c",
    (
        "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('deaf', flush=True); time.sleep(600)"
    ),
)


@pytest.fixture
def home(tmp_path) -> Home:
    found = Home(tmp_path / "home")
    found.create()
    return found


def service(home: Home, name: str, command: tuple[str, ...], rank: int = 0) -> Service:
    return Service(name, command, dict(os.environ), home.path, lambda _pid: True, rank)


@pytest.fixture
def supervisor(home: Home) -> Iterator[Supervisor]:
    made = Supervisor(home, Runtime())
    loop = threading.Thread(target=made.run)
    loop.start()
    yield made
    made.stop()
    loop.join(60)
    assert not loop.is_alive()


def test_the_first_crash_costs_no_delay_and_later_ones_double_up_to_a_limit() -> None:
    delays = [delay_after(crashes) for crashes in range(1, 9)]

    assert delays == [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_a_killed_child_is_started_again_and_counted(home: Home, supervisor: Supervisor) -> None:
    supervisor.want(service(home, "sleeper", SLEEP))
    assert wait_until(lambda: supervisor.pid_of("sleeper") is not None, timeout_s=60)
    first = supervisor.pid_of("sleeper")
    assert first is not None

    os.kill(first, signal.SIGKILL)

    assert wait_until(lambda: supervisor.pid_of("sleeper") not in (None, first), timeout_s=60)
    assert wait_until(lambda: read_runtime(home).services["sleeper"].restarts == 1, timeout_s=60)
    assert read_runtime(home).services["sleeper"].last_exit == -signal.SIGKILL


@pytest.mark.parametrize("ended_by", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize(("serves", "counted"), [(True, [1, 1, 1, 1]), (False, [1, 2, 3, 4])])
def test_only_what_did_not_serve_is_started_later_each_time(
    home: Home,
    supervisor: Supervisor,
    monkeypatch: pytest.MonkeyPatch,
    *,
    serves: bool,
    counted: list[int],
    ended_by: signal.Signals,
) -> None:
    """It ends four times. A process that was ready before its end starts again without delay."""
    asked: list[int] = []
    monkeypatch.setattr("deploy.stack.supervisor.delay_after", lambda n: asked.append(n) or 0.0)
    supervisor.want(service(home, "sleeper", SLEEP))
    pid = None
    for _ in counted:
        assert wait_until(lambda: supervisor.pid_of("sleeper") not in (None, pid), timeout_s=60)  # noqa: B023 -- asked at once
        if serves:
            supervisor.mark_ready("sleeper")
        pid = supervisor.pid_of("sleeper")
        os.kill(pid or 0, ended_by)

    assert wait_until(lambda: asked == counted, timeout_s=60)


def test_what_a_person_restarts_has_no_last_exit_any_more(
    home: Home, supervisor: Supervisor
) -> None:
    supervisor.want(service(home, "sleeper", SLEEP))
    assert wait_until(lambda: supervisor.pid_of("sleeper") is not None, timeout_s=60)
    os.kill(supervisor.pid_of("sleeper") or 0, signal.SIGKILL)
    assert wait_until(lambda: read_runtime(home).services["sleeper"].restarts == 1, timeout_s=60)

    supervisor.restart("sleeper")

    assert wait_until(
        lambda: read_runtime(home).services["sleeper"].asked_restarts == 1, timeout_s=60
    )
    assert read_runtime(home).services["sleeper"].last_exit is None


def test_a_full_disk_ends_nothing_that_runs(
    home: Home, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = threading.Event()

    def full(*_: object) -> None:
        tried.set()
        raise OSError(28, "No space left on device")

    supervisor.want(service(home, "sleeper", SLEEP))
    assert wait_until(lambda: supervisor.pid_of("sleeper") is not None, timeout_s=60)
    with monkeypatch.context() as disk:
        disk.setattr("deploy.stack.supervisor.write_runtime", full)
        supervisor.note(error="something new")
        assert tried.wait(60)
        first = supervisor.pid_of("sleeper")
        assert first is not None
        os.kill(first, signal.SIGKILL)
        assert wait_until(lambda: supervisor.pid_of("sleeper") not in (None, first), timeout_s=60)

    assert wait_until(lambda: read_runtime(home).services["sleeper"].restarts == 1, timeout_s=60)
    assert read_runtime(home).error == "something new"
    supervisor.note(error="")


def test_stopping_ends_every_child_and_says_so(home: Home) -> None:
    supervisor = Supervisor(home, Runtime())
    loop = threading.Thread(target=supervisor.run)
    loop.start()
    supervisor.want(service(home, "first", SLEEP), service(home, "last", SLEEP, rank=4))
    assert wait_until(lambda: supervisor.pid_of("last") is not None, timeout_s=60)
    children = [identify(supervisor.pid_of(name) or 0) for name in ("first", "last")]

    supervisor.stop()
    loop.join(60)

    assert not any(map(alive, children))
    assert {s.state for s in read_runtime(home).services.values()} == {"stopped"}
    assert read_runtime(home).phase == "down"


def test_a_suspended_supervisor_is_asked_to_stop_and_not_killed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It handles SIGTERM only after SIGCONT. A killed supervisor would stop no service in order."""
    monkeypatch.setattr(control, "_STOP_S", 5.0)
    process = subprocess.Popen(SLEEP)  # noqa: S603 -- our own program
    me = identify(process.pid)
    write_runtime(home, Runtime("ready", supervisor_pid=me.pid, supervisor_ticks=me.started))
    process.send_signal(signal.SIGSTOP)
    try:
        assert wait_until(lambda: suspended(me), timeout_s=60)

        assert control.stop(home)

        assert process.wait(60) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait(60)


def test_a_stack_is_stopped_on_a_disk_that_takes_no_file(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise the repair of a full disk, `inventory down && inventory move …`, would fail."""

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    child = spawn(
        SLEEP, environment=dict(os.environ), directory=home.path, log=home.log_of("sleeper")
    )
    entry = ServiceRuntime("running", pid=child.pid, started_ticks=identify(child.pid).started)
    write_runtime(home, Runtime("ready", services={"sleeper": entry}))
    monkeypatch.setattr(control, "write_runtime", full)

    assert not control.stop(home)

    assert child.wait(60) == -signal.SIGTERM


def test_a_supervisor_without_a_home_says_so_in_a_line() -> None:
    command = [sys.executable, "-m", "deploy.stack.daemon", "/proc/nowhere/home"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own module

    assert done.returncode == 1
    assert "/proc/nowhere" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_child_that_ignores_the_signal_is_killed_after_the_grace(home: Home) -> None:
    log = home.log_of("deaf")
    child = spawn(STUBBORN, environment=dict(os.environ), directory=home.path, log=log)
    assert wait_until(lambda: b"deaf" in log.read_bytes(), timeout_s=60)

    end([identify(child.pid)], signal.SIGTERM, grace_s=0.3)

    assert child.wait(60) == -signal.SIGKILL


def test_a_reused_pid_is_somebody_else(home: Home) -> None:
    child = spawn(SLEEP, environment=dict(os.environ), directory=home.path, log=home.log_of("s"))
    mine = identify(child.pid)

    assert alive(mine)
    assert not alive(ProcessId(mine.pid, mine.started - 1))
    end([mine], signal.SIGTERM)
    assert child.wait(60) == -signal.SIGTERM
    assert not alive(mine)
