"""Child processes are restarted with a growing delay; restarts are counted; a stop ends all."""

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.stack.home import Home
from deploy.stack.processes import (
    alive,
    identify,
    wait_until,
)
from deploy.stack.runtime import Runtime, read_runtime
from deploy.stack.service import Service
from deploy.stack.supervisor import StopReason, Supervisor, delay_after
from tests.deploy.children import MEMBER, SLEEP

pytestmark = pytest.mark.engines


def service(home: Home, name: str, command: tuple[str, ...], rank: int = 0) -> Service:
    return Service(name, command, dict(os.environ), home.path, lambda _pid: True, rank)


def lines(log: Path) -> list[str]:
    return log.read_text(encoding="utf-8").splitlines() if log.exists() else []


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
def test_the_restart_delay_grows_only_if_the_service_was_never_ready(
    home: Home,
    supervisor: Supervisor,
    monkeypatch: pytest.MonkeyPatch,
    *,
    serves: bool,
    counted: list[int],
    ended_by: signal.Signals,
) -> None:
    """The process ends four times. If it was ready before, it starts again without delay."""
    asked: list[int] = []

    def no_delay(ends: int) -> float:
        asked.append(ends)
        return 0.0

    monkeypatch.setattr("deploy.stack.supervisor.delay_after", no_delay)
    supervisor.want(service(home, "sleeper", SLEEP))
    pid = None
    for _ in counted:
        assert wait_until(lambda: supervisor.pid_of("sleeper") not in (None, pid), timeout_s=60)  # noqa: B023 -- asked at once
        if serves:
            supervisor.mark_ready("sleeper")
        pid = supervisor.pid_of("sleeper")
        os.kill(pid or 0, ended_by)

    assert wait_until(lambda: asked == counted, timeout_s=60)


def test_a_requested_restart_clears_the_last_exit_code(home: Home, supervisor: Supervisor) -> None:
    supervisor.want(service(home, "sleeper", SLEEP))
    assert wait_until(lambda: supervisor.pid_of("sleeper") is not None, timeout_s=60)
    os.kill(supervisor.pid_of("sleeper") or 0, signal.SIGKILL)
    assert wait_until(lambda: read_runtime(home).services["sleeper"].restarts == 1, timeout_s=60)

    supervisor.stop_service("sleeper", StopReason.RESTART)

    assert wait_until(
        lambda: read_runtime(home).services["sleeper"].asked_restarts == 1, timeout_s=60
    )
    assert read_runtime(home).services["sleeper"].last_exit is None


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (StopReason.RESTART, "comes back"),
        (StopReason.REPAIR, "comes back"),
        (StopReason.RELEASE, "leaves"),
        (StopReason.PAUSE, "leaves"),
    ],
)
def test_a_released_or_paused_service_gets_its_leave_signal(
    home: Home, supervisor: Supervisor, reason: StopReason, told: str
) -> None:
    supervisor.want(
        replace(service(home, "member", MEMBER), leave_signal=signal.SIGUSR1),
        service(home, "other", MEMBER),
    )
    log, other = home.log_of("member"), home.log_of("other")
    assert wait_until(lambda: lines(log) == lines(other) == ["ready"], timeout_s=60)

    supervisor.stop_service("member", reason)
    supervisor.stop_service("other", reason)

    assert wait_until(lambda: lines(log)[1:2] == [told], timeout_s=60)
    assert wait_until(lambda: lines(other)[1:2] == ["comes back"], timeout_s=60)


def test_a_full_disk_does_not_stop_the_supervisor(
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


def test_stopping_the_supervisor_ends_and_records_every_child(home: Home) -> None:
    supervisor = Supervisor(home, Runtime())
    loop = threading.Thread(target=supervisor.run)
    loop.start()
    supervisor.want(service(home, "first", SLEEP), service(home, "last", SLEEP, rank=4))
    try:
        assert wait_until(lambda: supervisor.pid_of("last") is not None, timeout_s=60)
        children = [identify(supervisor.pid_of(name) or 0) for name in ("first", "last")]
    finally:
        supervisor.stop()
        loop.join(60)

    assert not any(map(alive, children))
    assert {s.state for s in read_runtime(home).services.values()} == {"stopped"}
    assert read_runtime(home).phase == "down"
