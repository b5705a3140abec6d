"""Stop child processes of a benchmark, and read the last lines of their logs."""

import os
import signal
import subprocess
from pathlib import Path
from subprocess import Popen
from typing import Final

_STOP_S: Final = 40.0
_LOG_CHARS: Final = 600


def stop(process: Popen[bytes], *, terminate: bool = True) -> None:
    """Wait for the process; if `terminate`, send SIGTERM first. After 40 s kill its group."""
    if terminate and process.poll() is None:
        process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_STOP_S)


def log_tail(log: Path) -> str:
    """Return the last 600 characters of the log."""
    return log.read_text("utf-8", errors="replace").strip()[-_LOG_CHARS:]
