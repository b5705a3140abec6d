"""A process that a test has started ends with the test, even if it ignores SIGTERM."""

import signal
import subprocess
import sys

import pytest

from tests.processes import end

DEAF = (
    "import signal, threading; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    "print('deaf', flush=True); threading.Event().wait(600)"
)


def test_a_process_that_ignores_the_signal_is_killed_and_fails_the_test() -> None:
    with subprocess.Popen([sys.executable, "-c", DEAF], stdout=subprocess.PIPE) as process:  # noqa: S603 -- our own program
        assert process.stdout is not None
        assert process.stdout.readline() == b"deaf\n"

        with pytest.raises(subprocess.TimeoutExpired):
            end(process, within_s=0.2)

        assert process.returncode == -signal.SIGKILL
