"""The last line that a service logged before it ended with an exit code: problem and repair.

A process that can't go on logs a line with `exit_code`, `problem` and, if a restart does not help,
`repair`: the command that does.
"""

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from deploy.stack.runtime import ServiceRuntime

_TAIL_BYTES: Final = 256 << 10
_LONGEST: Final = 400
_BETWEEN_S: Final = 60.0  # between an end and the next start, generously


@dataclass(frozen=True, slots=True)
class LastWords:
    """The reason of an end and the command for it; each is empty if the log has none."""

    problem: str = ""
    repair: str = ""


def last_words(log: Path, code: int | None, since: float = 0.0) -> LastWords:
    """Return what the log says about the newest end with exit code `code`.

    A line from before `since`, in seconds since 1970 UTC, belongs to an end of the past.
    """
    lines = (line for line in _lines(log) if line.get("exit_code") == code)
    line = next((line for line in lines if _time_of(line) >= since), {})
    problem = str(line.get("problem") or "")[:_LONGEST]
    return LastWords(problem, str(line.get("repair") or ""))


def words_of(entry: ServiceRuntime) -> LastWords:
    """Return what a service logged at its last end, nothing if it has not ended."""
    if not entry.last_exit:
        return LastWords()
    began = (entry.started_at or 0.0) - entry.lived_s - _BETWEEN_S
    return last_words(Path(entry.log), entry.last_exit, began)


def _time_of(line: dict[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(line["timestamp"])).timestamp()
    except (KeyError, ValueError):
        return math.inf


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the documents at the end of a log, newest first."""
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
