"""Like the stack's, a shadow's supervisor reports, rotates logs and refuses a second supervisor."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.revisions.shadow import home_of
from deploy.stack import report
from deploy.stack.home import PROJECT, Home
from deploy.stack.processes import identify, wait_until
from deploy.stack.rotation import LOG_LIMIT
from deploy.stack.runtime import Runtime, read_runtime, write_environment, write_runtime

pytestmark = pytest.mark.engines

REVISION = 9


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """A home whose stack this process supervises."""
    found = Home(tmp_path / "home")
    found.create()
    me = identify(os.getpid())
    runtime = Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    write_environment(found, {"INVENTORY_QUERY_TOKEN": "token"})
    write_runtime(found, runtime)
    home_of(found, REVISION).logs.mkdir(parents=True)
    return found


def command(home: Home, worker: Path) -> list[str]:
    module = [sys.executable, "-m", "deploy.revisions.daemon"]
    return [*module, str(home.path), str(REVISION), str(PROJECT), str(worker), "1"]


@pytest.fixture
def daemon(home: Home, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A supervisor of one worker, which only sleeps."""
    worker = tmp_path / "worker"
    worker.write_text("#!/bin/sh\nexec sleep 600\n")
    worker.chmod(0o755)
    with subprocess.Popen(command(home, worker), cwd=PROJECT) as running:  # noqa: S603 -- our own module
        yield running
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=60) == 0


def test_a_shadow_supervisor_answers_queries_and_rotates_its_logs(home: Home, daemon) -> None:
    beside = home_of(home, REVISION)
    grown = beside.log_of("worker-1")
    grown.touch()
    os.truncate(grown, LOG_LIMIT + 1)

    assert wait_until(lambda: read_runtime(beside).supervisor_pid == daemon.pid, timeout_s=60)
    assert wait_until(
        lambda: report.query(beside, identify(daemon.pid)) is not None, timeout_s=60, poll_s=0.2
    )
    assert wait_until(lambda: grown.stat().st_size <= LOG_LIMIT, timeout_s=60)
    assert grown.with_suffix(".log.1").exists()


def test_a_second_shadow_supervisor_is_refused_with_one_line(
    home: Home, daemon, tmp_path: Path
) -> None:
    beside = home_of(home, REVISION)
    assert wait_until(lambda: read_runtime(beside).supervisor_pid == daemon.pid, timeout_s=60)

    done = subprocess.run(  # noqa: S603 -- our own module
        command(home, tmp_path / "worker"), cwd=PROJECT, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stderr) == (
        1, f"another supervisor runs in {beside.path}; nothing was started\n",
    )  # fmt: skip
