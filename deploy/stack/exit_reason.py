"""Problem and repair of a service's last exit, from the last lines of its log.

A process of this project that can't continue logs a JSON line with `exit_code` and `problem`. If a
restart doesn't help, the line also has `repair`, a command.
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
_BETWEEN_S: Final = 60.0  # upper bound of the time between an exit and the next start


@dataclass(frozen=True, slots=True)
class ExitReason:
    """Problem of an exit, and the command that repairs it. Each is "" if the log has none."""

    problem: str = ""
    repair: str = ""


def exit_reason(log: Path, code: int | None, since: float = 0.0) -> ExitReason:
    """Return problem and repair from the newest line of `log` whose `exit_code` is `code`.

    Ignore lines from before `since`, in seconds since 1970 UTC: they are about earlier exits.
    """
    lines = (line for line in _lines(log) if line.get("exit_code") == code)
    line = next((line for line in lines if _time_of(line) >= since), {})
    problem = str(line.get("problem") or "")[:_LONGEST]
    return ExitReason(problem, str(line.get("repair") or ""))


def exit_reason_of(entry: ServiceRuntime) -> ExitReason:
    """Return problem and repair of a service's last exit. Both are "" if that was no failure."""
    if not entry.last_exit:
        return ExitReason()
    began = (entry.started_at or 0.0) - entry.lived_s - _BETWEEN_S
    return exit_reason(Path(entry.log), entry.last_exit, began)


def _time_of(line: dict[str, Any]) -> float:
    try:
        return datetime.fromisoformat(str(line["timestamp"])).timestamp()
    except (KeyError, ValueError):
        return math.inf


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in the last 256 KiB of a log, newest first."""
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
            continue  # a line of a library, or a truncated line
        if type(found) is dict:
            yield found
