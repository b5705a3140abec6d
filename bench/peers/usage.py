"""CPU time and memory of a process tree, from /proc."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
# Field indexes in /proc/PID/stat, counted after the command in parentheses.
_USER, _SYSTEM, _CHILDREN_USER, _CHILDREN_SYSTEM, _RESIDENT = 11, 12, 13, 14, 21


@dataclass(frozen=True, slots=True)
class Usage:
    """CPU seconds since the start of one or more processes, and their resident bytes now."""

    cpu_s: float
    resident_bytes: int


def usage(pid: int) -> Usage:
    """Return CPU time and memory of the process tree of `pid`; zero if `pid` has ended.

    The CPU time includes children that have ended.
    """
    ticks = resident = 0
    for each in _tree(pid):
        fields = _stat(each)
        if fields:
            ticks += sum(
                int(fields[at]) for at in (_USER, _SYSTEM, _CHILDREN_USER, _CHILDREN_SYSTEM)
            )
            resident += int(fields[_RESIDENT]) * _PAGE_BYTES
    return Usage(ticks / _TICKS, resident)


def each_usage(pid: int) -> dict[int, Usage]:
    """Return the usage of each running process in the tree, by pid. Ended children don't count."""
    found = {}
    for each in _tree(pid):
        fields = _stat(each)
        if fields:
            ticks = int(fields[_USER]) + int(fields[_SYSTEM])
            found[each] = Usage(ticks / _TICKS, int(fields[_RESIDENT]) * _PAGE_BYTES)
    return found


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        try:
            children = (thread / "children").read_text(encoding="ascii")
        except OSError:
            continue
        for child in children.split():
            yield from _tree(int(child))


def _stat(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
