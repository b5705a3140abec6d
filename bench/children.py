"""Stop child processes of a benchmark, and read the last lines of their logs."""

import json
import os
import signal
import subprocess
from pathlib import Path
from subprocess import Popen
from typing import Final

_STOP_S: Final = 40.0
_LOG_CHARS: Final = 600


def stop(process: Popen[bytes], *, terminate: bool = True) -> None:
    """Wait for the process; if `terminate`, send SIGTERM first. Kill its group after 40 s."""
    if terminate and process.poll() is None:
        process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_STOP_S)


def log_tail(log: Path) -> str:
    """Return event and error if the log's last line is JSON, else the log's last 600 characters.

    A JSON line can be long, and its last 600 characters would not contain the error.
    """
    text = log.read_text("utf-8", errors="replace").strip()
    try:
        line = json.loads(text.rpartition("\n")[2])
        error = line["exception"][0]
        return f"{line['event']}: {error['exc_type']}: {error['exc_value']}"
    except (ValueError, LookupError, TypeError):
        return text[-_LOG_CHARS:]
