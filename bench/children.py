"""Processes that a bench has started: how they end, and what they said last."""

import os
import signal
import subprocess
from pathlib import Path
from subprocess import Popen
from typing import Final

_STOP_S: Final = 40.0
_LOG_CHARS: Final = 600


def stop(process: Popen[bytes], *, ask: bool = True) -> None:
    """SIGTERM unless it ends itself; SIGKILL for the group of one that does not listen."""
    if ask and process.poll() is None:
        process.terminate()
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(_STOP_S)


def last_words(log: Path) -> str:
    """The end of what the process wrote."""
    return log.read_text("utf-8", errors="replace").strip()[-_LOG_CHARS:]
