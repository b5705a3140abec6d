"""A supervisor is asked to stop and not killed. It reports in one line why it can't start."""

import os
import signal
import subprocess
import sys

import pytest

from deploy.stack import daemon
from deploy.stack.home import Home
from deploy.stack.processes import identify, spawn, suspended, wait_until
from deploy.stack.runtime import Runtime, ServiceRuntime, write_runtime
from tests.deploy.children import SLEEP


def test_a_suspended_supervisor_is_asked_to_stop_and_not_killed(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A suspended process handles SIGTERM only after SIGCONT. SIGKILL wouldn't end its services."""
    monkeypatch.setattr(daemon, "_STOP_S", 5.0)
    process = subprocess.Popen(SLEEP)  # noqa: S603 -- our own program
    me = identify(process.pid)
    write_runtime(home, Runtime("ready", supervisor_pid=me.pid, supervisor_ticks=me.started))
    process.send_signal(signal.SIGSTOP)
    try:
        assert wait_until(lambda: suspended(me), timeout_s=60)

        assert daemon.stop(home)

        assert process.wait(60) == -signal.SIGTERM
    finally:
        process.kill()
        process.wait(60)


def test_a_stack_can_be_stopped_while_its_disk_is_full(
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
    monkeypatch.setattr(daemon, "write_runtime", full)

    assert not daemon.stop(home)

    assert child.wait(60) == -signal.SIGTERM


def test_a_supervisor_without_a_home_names_it_without_a_traceback() -> None:
    command = [sys.executable, "-m", "deploy.stack.daemon", "/proc/nowhere/home"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own module

    assert done.returncode == 1
    assert "/proc/nowhere" in done.stderr
    assert "Traceback" not in done.stderr
