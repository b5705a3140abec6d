"""A child process is identified by pid and start time, and is killed if it ignores SIGTERM."""

import os
import signal

from deploy.stack.home import Home
from deploy.stack.processes import ProcessId, alive, end, identify, spawn, wait_until
from tests.deploy.children import DEAF, SLEEP


def test_a_child_that_ignores_the_signal_is_killed_after_the_grace(home: Home) -> None:
    log = home.log_of("deaf")
    child = spawn(DEAF, environment=dict(os.environ), directory=home.path, log=log)
    assert wait_until(lambda: b"deaf" in log.read_bytes(), timeout_s=60)

    end([identify(child.pid)], signal.SIGTERM, grace_s=0.3)

    assert child.wait(60) == -signal.SIGKILL


def test_a_reused_pid_is_not_the_same_process(home: Home) -> None:
    child = spawn(SLEEP, environment=dict(os.environ), directory=home.path, log=home.log_of("s"))
    mine = identify(child.pid)

    assert alive(mine)
    assert not alive(ProcessId(mine.pid, mine.started - 1))
    end([mine], signal.SIGTERM)
    assert child.wait(60) == -signal.SIGTERM
    assert not alive(mine)
