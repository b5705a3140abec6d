"""The end of a process that a test has started."""

import signal
import subprocess
from typing import Any


def end(
    process: "subprocess.Popen[Any]",
    number: signal.Signals = signal.SIGTERM,
    within_s: float = 120.0,
) -> int:
    """Send the signal and return the exit code.

    Raises:
        subprocess.TimeoutExpired: the process did not end in time; it has been killed.
    """
    process.send_signal(number)
    try:
        return process.wait(within_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
