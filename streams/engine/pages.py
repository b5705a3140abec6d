"""Huge pages for Python's own memory, where the kernel supports collapsing on demand.

A state is a few dozen small values, and those of a restored key are spread over the process. With
pages of 4 KiB each access costs address translation: the processor caches some thousand pages, and
a virtual machine translates twice for each of the others. `madvise(MADV_COLLAPSE)`, Linux 6.1 and
later, moves 2 MiB onto one page. Python's allocator has no option for that. It changes only speed,
so errors of the kernel are ignored.
"""

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

HUGE_BYTES: Final = 2 * 1024 * 1024
FILLED_PERCENT: Final = 90  # in use; collapsing allocates the rest, as in the stack of a thread
_MADV_COLLAPSE: Final = 25
_KIB: Final = 1024
_SMAPS: Final = Path("/proc/self/smaps")


class Mapping(NamedTuple):
    """Anonymous memory of this process: addresses [start, end), and bytes of it in use."""

    start: int
    end: int
    used: int

    def is_filled(self) -> bool:
        """Return True if so much is in use that huge pages add hardly any memory."""
        return self.used * 100 >= (self.end - self.start) * FILLED_PERCENT

    def huge_ranges(self) -> range:
        """Return the starts of the complete, aligned 2 MiB ranges in it."""
        first = -(-self.start // HUGE_BYTES) * HUGE_BYTES
        return range(first, self.end // HUGE_BYTES * HUGE_BYTES, HUGE_BYTES)


class HugePages:
    """Moves the memory of this process onto huge pages, each 2 MiB of it once."""

    def __init__(self) -> None:
        self._asked: set[int] = set()
        self._madvise = ctypes.CDLL(None).madvise if sys.platform == "linux" else None
        if self._madvise is not None:
            self._madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)

    def look(self) -> int:
        """Move new, filled ranges and return the number of huge pages that the kernel made.

        Each takes half a millisecond without the interpreter's lock, so call this from a thread. A
        refused range is not retried until it was unmapped and mapped again.
        """
        try:
            # Names of mapped files in it have any encoding.
            smaps = _SMAPS.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return 0
        if self._madvise is None:
            return 0
        mapped = list(anonymous(smaps))
        self._asked &= {start for mapping in mapped for start in mapping.huge_ranges()}
        wanted = {start for each in mapped if each.is_filled() for start in each.huge_ranges()}
        moved = 0
        for start in sorted(wanted - self._asked):
            moved += self._madvise(start, HUGE_BYTES, _MADV_COLLAPSE) == 0
            self._asked.add(start)
        return moved


def anonymous(smaps: str) -> Iterator[Mapping]:
    """Yield the writable mappings in `smaps` that belong to no file, heap or stack."""
    start = end = 0
    for line in smaps.splitlines():
        words = line.split()
        if not words[0].endswith(":"):
            low, _, high = words[0].partition("-")
            start, end = int(low, 16), int(high, 16)
            # Address, permissions, offset, device and inode; a sixth word would be a name.
            if words[1] != "rw-p" or len(words) > 5:  # noqa: PLR2004 -- counted above
                start = end = 0
        elif words[0] == "Rss:" and end:
            yield Mapping(start, end, int(words[1]) * _KIB)
