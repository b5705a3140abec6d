"""Limits on waiting for each part when a stack starts."""

import errno
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from deploy.errors import StackError
from deploy.stack import daemon, requested
from deploy.stack.context import Context, Options
from deploy.stack.home import Home
from deploy.stack.processes import identify, wait_until
from deploy.stack.requested import RequestedState, write_requested
from deploy.stack.runtime import Runtime, read_runtime, write_runtime
from deploy.stack.service import Service
from deploy.stack.start_order import StartThread
from deploy.stack.supervisor import Supervisor
from tests.deploy.children import SLEEP

pytestmark = pytest.mark.engines

WITHIN_S = 0.3


@pytest.fixture
def starting(tmp_path) -> Iterator[StartThread]:
    home = Home(tmp_path / "home")
    home.create()
    supervisor = Supervisor(home, Runtime())
    loop = threading.Thread(target=supervisor.run)
    loop.start()
    yield StartThread(Context(home, Options(), {}, {}), supervisor)
    supervisor.stop()
    loop.join(30)


def slow(starting: StartThread, *, is_progressing: bool) -> Service:
    """Return a process that gets ready after three times the wait limit, or never."""
    ready_at = time.monotonic() + 3 * WITHIN_S if is_progressing else float("inf")
    service = Service(
        "restoring",
        SLEEP,
        dict(os.environ),
        starting.context.home.path,
        ready=lambda _pid: time.monotonic() > ready_at,
        stop_rank=0,
        ready_within_s=WITHIN_S,
    )
    return replace(service, is_progressing=lambda _pid: True) if is_progressing else service


def test_the_start_waits_past_the_limit_for_a_service_with_progress(starting: StartThread) -> None:
    starting._serve(slow(starting, is_progressing=True), time.monotonic())

    home = starting.context.home
    assert wait_until(
        lambda: read_runtime(home).services["restoring"].state == "running", timeout_s=60
    )


def test_the_start_fails_if_a_service_without_progress_exceeds_its_limit(
    starting: StartThread,
) -> None:
    with pytest.raises(StackError, match="restoring did not become ready"):
        starting._serve(slow(starting, is_progressing=False), time.monotonic())


def test_a_part_that_halts_and_names_its_repair_does_not_end_the_start(
    starting: StartThread,
) -> None:
    says = {"exit_code": 66, "problem": "cut off", "repair": "inventory workers rebuild --yes"}
    program = f"import sys; print({json.dumps(says)!r}, flush=True); sys.exit(66)"
    halting = replace(
        slow(starting, is_progressing=False),
        name="halting",
        command=(sys.executable, "-c", program),
    )
    halting = replace(halting, ready_within_s=60.0)

    starting._serve(halting, time.monotonic())
    starting._serve(slow(starting, is_progressing=True), time.monotonic())
    starting.supervisor.note(phase="ready", supervisor_pid=os.getpid(), supervisor_ticks=ticks())

    home = starting.context.home
    assert wait_until(lambda: read_runtime(home).phase == "ready", timeout_s=60)
    with pytest.raises(StackError, match=r"halting keeps ending: cut off\. All other") as told:
        daemon.wait_ready(home)
    assert told.value.repair == "inventory workers rebuild --yes"
    assert [step["step"] for step in read_runtime(home).steps] == ["restoring"]


def test_a_failed_start_is_reported_once_its_supervisor_has_ended(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    with subprocess.Popen(SLEEP) as stopping:  # noqa: S603 -- a constant command
        me = identify(stopping.pid)
        failed = Runtime(supervisor_pid=me.pid, supervisor_ticks=me.started, phase="failed")
        write_runtime(home, replace(failed, error="no room"))
        ends = threading.Timer(WITHIN_S, stopping.kill)
        ends.start()

        with pytest.raises(StackError, match="no room"):
            daemon.wait_ready(home)

        assert not read_runtime(home).running
        ends.join()


def ticks() -> int:
    """Return the start time of this process, which the test uses as the supervisor."""
    return identify(os.getpid()).started


def test_a_second_up_waits_for_a_service_that_is_starting(starting: StartThread) -> None:
    home = starting.context.home
    starting.supervisor.note(phase="ready", supervisor_pid=os.getpid(), supervisor_ticks=ticks())
    service = slow(starting, is_progressing=True)
    starting.supervisor.want(service)
    assert wait_until(
        lambda: "restoring" in read_runtime(home).services and read_runtime(home).phase == "ready",
        timeout_s=60,
    )
    serving = threading.Thread(target=starting._serve, args=(service, time.monotonic()))
    serving.start()

    found = daemon.start_detached(home, Options())

    serving.join(60)
    assert found.services["restoring"].state == "running"


def test_a_request_that_fails_for_want_of_disk_does_not_stop_the_stack(
    starting: StartThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new worker gets a port, and the supervisor writes all ports to a file on the disk."""
    write_requested(starting.context.home, RequestedState(1))
    tries: list[str] = []

    def full(*_arguments: object) -> dict[str, int]:
        tries.append("ports.json")
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(requested, "choose_ports", full)
    watching = threading.Thread(target=starting._watch)

    watching.start()
    assert wait_until(lambda: len(tries) > 1, timeout_s=30)
    starting.supervisor.stop()
    watching.join(30)

    assert not starting.supervisor.runtime.error
