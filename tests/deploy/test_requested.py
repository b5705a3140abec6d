"""Workers start, stop and restart one by one, as `wanted.json` requests."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from deploy.errors import StackError
from deploy.stack import service_commands
from deploy.stack.context import Context, Options
from deploy.stack.home import Home
from deploy.stack.processes import alive, identify, wait_until
from deploy.stack.requested import RequestedState, Requests, read_requested, write_requested
from deploy.stack.runtime import Runtime, ServiceRuntime, read_runtime, write_runtime
from deploy.stack.service import Service
from deploy.stack.services import application
from deploy.stack.supervisor import StopReason, Supervisor
from tests.deploy.children import DEAF, SLEEP

pytestmark = pytest.mark.engines


@dataclass
class Stack:
    """A supervisor and its requests. The test decides when the supervisor reads them."""

    supervisor: Supervisor
    requests: Requests
    left: list[str] = field(default_factory=list)

    def has(self, *names: str) -> bool:
        """Return True if exactly these workers are wanted and each has a process."""
        self.requests.carry_out()
        have = self.supervisor.names()
        return set(have) == set(names) and all(map(self.supervisor.pid_of, have))


@pytest.fixture
def stack(home: Home, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    def sleeper(context: Context, name: str) -> Service:
        port = context.ports[name]
        return Service(name, SLEEP, dict(os.environ), home.path, lambda _: True, 1, port)

    monkeypatch.setattr(application, "worker", sleeper)
    context = Context(home, Options(), {"web": 1, "kafka": 2}, home.secrets())
    supervisor = Supervisor(home, Runtime())
    left: list[str] = []
    made = Stack(supervisor, Requests(context, supervisor, left.append), left)
    loop = threading.Thread(target=supervisor.run)
    loop.start()
    yield made
    supervisor.stop()
    loop.join(60)
    assert not loop.is_alive()


def left(stack: Stack) -> list[str]:
    """Execute the request. Return the workers whose group membership it ended."""
    stack.requests.carry_out()
    return stack.left


def until(condition: Any) -> None:
    assert wait_until(condition, timeout_s=120)


def test_scaling_does_not_restart_the_other_workers(home: Home, stack: Stack) -> None:
    write_requested(home, RequestedState(2))
    until(lambda: stack.has("worker-1", "worker-2"))
    kept = [stack.supervisor.pid_of(name) for name in ("worker-1", "worker-2")]

    write_requested(home, RequestedState(3))
    until(lambda: stack.has("worker-1", "worker-2", "worker-3"))
    third = identify(stack.supervisor.pid_of("worker-3") or 0)
    write_requested(home, RequestedState(2))
    until(lambda: stack.has("worker-1", "worker-2"))

    assert [stack.supervisor.pid_of(name) for name in ("worker-1", "worker-2")] == kept
    assert not alive(third)
    until(lambda: left(stack) == ["worker-3"])
    until(lambda: set(read_runtime(home).services) == {"worker-1", "worker-2"})


def test_a_worker_that_comes_back_gets_its_port_again(home: Home, stack: Stack) -> None:
    ports = []
    for count in (2, 1, 2):
        write_requested(home, RequestedState(count))
        names = [f"worker-{number}" for number in range(1, count + 1)]
        until(lambda names=names: stack.has(*names))
        until(lambda names=names: set(read_runtime(home).services) == set(names))
        ports.append({name: s.port for name, s in read_runtime(home).services.items()})

    assert ports[0] == ports[2]
    assert len(set(ports[0].values())) == 2


def test_an_unreadable_wanted_file_changes_no_worker(home: Home, stack: Stack) -> None:
    write_requested(home, RequestedState(1))
    until(lambda: stack.has("worker-1"))
    pid = stack.supervisor.pid_of("worker-1")
    (home.path / "wanted.json").write_text('{"workers": "none"}')

    stack.requests.carry_out()

    assert stack.supervisor.pid_of("worker-1") == pid


def test_a_requested_restart_runs_once_and_is_not_counted_as_a_crash(
    home: Home, stack: Stack
) -> None:
    write_requested(home, RequestedState(2))
    until(lambda: stack.has("worker-1", "worker-2"))
    first, other = (stack.supervisor.pid_of(name) for name in ("worker-1", "worker-2"))

    wanted = read_requested(home)
    assert wanted is not None
    write_requested(home, wanted.restarted("worker-1"))
    stack.requests.carry_out()
    until(lambda: stack.supervisor.pid_of("worker-1") not in (None, first))
    second = stack.supervisor.pid_of("worker-1")
    stack.requests.carry_out()

    assert stack.supervisor.pid_of("worker-2") == other
    until(lambda: read_runtime(home).services["worker-1"].asked_restarts == 1)
    assert read_runtime(home).services["worker-1"].restarts == 0
    assert stack.supervisor.pid_of("worker-1") == second


@pytest.mark.parametrize("is_seen", [True, False])
def test_requested_restarts_work_after_the_wanted_file_was_deleted(
    home: Home,
    stack: Stack,
    is_seen: bool,  # noqa: FBT001 -- a case
) -> None:
    def restarts() -> int:
        return read_runtime(home).services["worker-1"].asked_restarts

    def again(done: int) -> None:
        write_requested(
            home, (read_requested(home) or RequestedState(1)).restarted("worker-1", restarts())
        )
        until(lambda: stack.has("worker-1") and restarts() == done)

    write_requested(home, RequestedState(1))
    until(lambda: stack.has("worker-1"))
    again(1)
    again(2)
    (home.path / "wanted.json").unlink()
    if is_seen:
        stack.requests.carry_out()

    again(3)


def test_a_paused_worker_starts_only_after_the_pause_is_removed(home: Home, stack: Stack) -> None:
    write_requested(home, RequestedState(2))
    until(lambda: stack.has("worker-1", "worker-2"))
    stack.supervisor.mark_ready("worker-1")
    first, other = (stack.supervisor.pid_of(name) for name in ("worker-1", "worker-2"))

    def states() -> dict[str, str]:
        return {name: entry.state for name, entry in read_runtime(home).services.items()}

    write_requested(home, RequestedState(2).without("worker-1", "unknown"))
    stack.requests.carry_out()
    until(lambda: states()["worker-1"] == "paused")
    stack.requests.carry_out()
    stack.supervisor.mark_ready("worker-1")

    assert stack.supervisor.pid_of("worker-1") is None
    assert stack.supervisor.pid_of("worker-2") == other
    assert states()["worker-1"] == "paused"
    write_requested(home, RequestedState(2))
    until(lambda: stack.has("worker-1", "worker-2"))
    assert stack.supervisor.pid_of("worker-1") != first
    until(lambda: states()["worker-1"] == "starting")
    assert read_runtime(home).services["worker-1"].restarts == 0


def test_a_paused_worker_leaves_its_group_after_its_process_has_ended(
    home: Home, stack: Stack
) -> None:
    write_requested(home, RequestedState(2))
    until(lambda: stack.has("worker-1", "worker-2"))

    for _ in range(2):
        del stack.left[:]
        write_requested(home, RequestedState(2, paused=["worker-2"]))
        until(lambda: left(stack) == ["worker-2"])
        stack.requests.carry_out()
        assert stack.left == ["worker-2"]
        assert stack.supervisor.pid_of("worker-2") is None
        write_requested(home, RequestedState(2))
        until(lambda: stack.has("worker-1", "worker-2"))


def test_scaling_down_removes_a_paused_worker(home: Home, stack: Stack) -> None:
    write_requested(home, RequestedState(2))
    until(lambda: stack.has("worker-1", "worker-2"))
    write_requested(home, RequestedState(2).without("worker-2"))
    stack.requests.carry_out()
    until(lambda: read_runtime(home).services["worker-2"].state == "paused")

    write_requested(home, RequestedState(1))

    until(lambda: stack.has("worker-1"))


def test_a_worker_that_waits_for_its_restart_can_be_removed(home: Home, stack: Stack) -> None:
    write_requested(home, RequestedState(2))
    until(lambda: stack.has("worker-1", "worker-2"))
    for crash in (1, 2, 3):
        until(lambda: stack.supervisor.pid_of("worker-2"))
        os.kill(stack.supervisor.pid_of("worker-2") or 0, signal.SIGKILL)
        until(lambda crash=crash: read_runtime(home).services["worker-2"].restarts == crash)

    write_requested(home, RequestedState(1))

    until(lambda: stack.has("worker-1"))


def test_a_service_that_ignores_sigterm_is_killed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("deploy.stack.supervisor.GRACE_S", 0.2)
    supervisor = Supervisor(home, Runtime())
    loop = threading.Thread(target=supervisor.run)
    loop.start()
    try:
        supervisor.want(Service("deaf", DEAF, dict(os.environ), home.path, lambda _: True, 1))
        until(lambda: home.log_of("deaf").exists() and b"deaf" in home.log_of("deaf").read_bytes())
        first = supervisor.pid_of("deaf")

        supervisor.stop_service("deaf", StopReason.RESTART)
        supervisor.mark_ready("deaf")

        until(lambda: supervisor.pid_of("deaf") not in (None, first))
        supervisor.stop_service("deaf", StopReason.RELEASE)
        until(lambda: supervisor.names() == ())
    finally:
        supervisor.stop()
        loop.join(60)


def test_only_services_of_the_stack_are_started(home: Home) -> None:
    context = Context(home, Options(only=("postgres",)), {}, home.secrets())
    supervisor = Supervisor(home, Runtime())
    requests = Requests(context, supervisor, lambda _: None)
    requests.carry_out()
    write_requested(home, RequestedState(3))

    requests.carry_out()

    assert supervisor.names() == ()


@pytest.mark.parametrize("count", [0, 13])
def test_more_workers_than_partitions_are_refused(count: int) -> None:
    with pytest.raises(StackError, match="expected 1 to 12"):
        RequestedState(2).scaled(count)


def running(home: Home, *names: str) -> dict[str, ServiceRuntime]:
    """Record a ready stack with these services and two requested workers. Return the services."""
    me = identify(os.getpid())
    services = {name: ServiceRuntime(state="running") for name in names}
    write_requested(home, RequestedState(2))
    write_runtime(
        home,
        Runtime(
            phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started, services=services
        ),
    )
    return services


def test_requests_of_two_commands_at_once_are_both_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = running(home, "web", "kafka")

    read = threading.Barrier(2)

    def write(place: Home, requested: RequestedState) -> None:
        # Without the lock, both commands meet here, so each has read before one of them writes.
        with suppress(threading.BrokenBarrierError):
            read.wait(0.2)
        write_requested(place, requested)

    monkeypatch.setattr(service_commands, "write_requested", write)
    commands = [threading.Thread(target=service_commands.hold, args=(home, n)) for n in services]

    for command in commands:
        command.start()
    for command in commands:
        command.join(60)

    found = read_requested(home)
    assert found is not None
    assert found.held == ["kafka", "web"]


def test_two_commands_at_once_do_not_stop_the_last_worker(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    services = running(home, "worker-1", "worker-2")
    read = threading.Barrier(2)
    refused: list[str] = []

    def together(place: Home, name: str) -> ServiceRuntime:
        read.wait(60)  # both commands have begun
        return read_runtime(place).services[name]

    def stop(name: str) -> None:
        try:
            service_commands.stop(home, name)
        except StackError as error:
            refused.append(str(error))

    monkeypatch.setattr(service_commands, "_worker", together)
    monkeypatch.setattr(service_commands, "wait_until", lambda *_args, **_options: True)
    commands = [threading.Thread(target=stop, args=(name,)) for name in services]

    for command in commands:
        command.start()
    for command in commands:
        command.join(60)

    found = read_requested(home)
    assert found is not None
    assert len(found.paused) == 1
    [text] = refused
    assert "is the only worker that runs; nothing was stopped" in text


@pytest.fixture(name="former_pause")
def a_pause_that_holds_the_lock_first(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> RequestedState:
    """A rebuild pauses everything while another command waits for the lock."""
    me = identify(os.getpid())
    services = {name: ServiceRuntime(state="running") for name in ("worker-1", "worker-2")}
    paused = RequestedState(2, paused=["projector", *services], stopped=["worker-2"])
    write_requested(home, RequestedState(2))
    write_runtime(home, Runtime("ready", me.pid, me.started, services=services))

    @contextmanager
    def locked(place: Home) -> Iterator[None]:
        write_requested(place, paused)
        yield

    monkeypatch.setattr(service_commands, "exclusive_request", locked)
    monkeypatch.setattr(service_commands, "wait_until", lambda *_args, **_options: True)
    return paused


@pytest.mark.parametrize(
    "command",
    [lambda home: service_commands.scale(home, 3), lambda h: service_commands.start(h, "worker-1")],
)
def test_a_rebuild_that_paused_meanwhile_is_not_undone(
    home: Home, former_pause: RequestedState, command: Callable[[Home], float]
) -> None:
    with pytest.raises(StackError, match="a rebuild was interrupted"):
        command(home)

    assert read_requested(home) == former_pause


@pytest.mark.usefixtures("former_pause")
def test_resume_does_not_start_a_worker_that_was_stopped_before_the_pause(home: Home) -> None:
    assert service_commands.resume(home) == ("worker-2",)
    assert read_requested(home) == RequestedState(2, paused=["worker-2"])
