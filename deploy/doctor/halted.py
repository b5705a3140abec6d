"""Workers that end again and again: which, for what reason, and what helps.

A worker that halts is started again and again, and may be found running between two of its ends.
What it wrote before the last one says more than its exit code.
"""

import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from deploy.stack.home import Home
from deploy.stack.runtime import ServiceRuntime, read_runtime
from deploy.stack.workforce import PREFIX
from streams.endings import meaning_of, way_out_of

# A worker that has ended again and again is well once it has run longer than its last life.
_UNSETTLED_S: Final = 120.0
_LEAST_S: Final = 20.0
_OFTEN: Final = 2
_ASKED: Final = ("paused", "stopping", "starting")  # as a person wants it: no crash led there
_TAIL_BYTES: Final = 256 << 10
_LONGEST: Final = 400


@dataclass(frozen=True, slots=True)
class Halted:
    """A worker, what it said when it last ended, and the command that helps."""

    worker: str
    reason: str
    repair: str

    @property
    def told(self) -> str:
        """In one line."""
        return f"{self.worker}: {self.reason}"


def halted(home: Home) -> list[Halted]:
    """Every worker that halts, by name."""
    services = sorted(read_runtime(home).services.items())
    return [
        _told(name, entry.last_exit, home.log_of(name))
        for name, entry in services
        if name.startswith(PREFIX) and entry.last_exit and _keeps_ending(entry)
    ]


def _keeps_ending(entry: ServiceRuntime) -> bool:
    if entry.state in _ASKED:
        return False
    if entry.state != "running":
        return True
    ran_s = time.time() - (entry.started_at or 0.0)
    settled_s = min(max(_LEAST_S, 2 * entry.lived_s), _UNSETTLED_S)
    # A signal came from outside; what it ended is well again once it runs.
    return (entry.last_exit or 0) > 0 and entry.ends_in_a_row >= _OFTEN and ran_s < settled_s


def _told(worker: str, code: int, log: Path) -> Halted:
    line = next((line for line in _lines(log) if line.get("exit_code") == code), {})
    problem = str(line.get("problem") or "")[:_LONGEST]
    return Halted(
        worker,
        reason=f"{meaning_of(code)}: {problem}" if problem else meaning_of(code),
        repair=str(line.get("repair") or way_out_of(code) or f"inventory restart {worker}"),
    )


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    """The documents at the end of a log, newest first."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            tail = file.read()
    except OSError:
        return
    for line in reversed(tail.splitlines()):
        try:
            found = json.loads(line)
        except ValueError:
            continue  # of a library, or cut
        if type(found) is dict:
            yield found
