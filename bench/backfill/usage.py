"""CPU time and memory of a measured process tree, split into computing and orchestration."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.peers.usage import Usage, each_usage

_POLL_S: Final = 0.1


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds and peak resident bytes. A shared memory page counts once for each process."""

    cpu_s: float
    computing_s: float  # all measured Python processes except the driver
    peak_bytes: int
    largest_bytes: int  # the largest single computing process

    @property
    def orchestration(self) -> float:
        """Return the share of the driver and all JVMs in the CPU time, from 0 to 1."""
        return 1 - self.computing_s / self.cpu_s if self.cpu_s else 0.0


@dataclass(slots=True)
class Sampler:
    """A sampler of the process trees of the driver and the cluster.

    It runs until the driver ends. Each process counts with the CPU time of its last sample.
    """

    driver: int
    others: Sequence[int] = ()  # pids of a running cluster; its earlier CPU time is subtracted
    _before: dict[int, Usage] = field(default_factory=dict)
    _last: dict[int, Usage] = field(default_factory=dict)
    _computing: set[int] = field(default_factory=set)
    _peak: int = 0
    _largest: int = 0

    def follow(self, has_ended: Callable[[], bool]) -> Cost:
        """Sample every 0.1 s until `has_ended` returns True. Return the cost."""
        for pid in self.others:
            self._before |= each_usage(pid)
        while not has_ended():
            self._sample()
            time.sleep(_POLL_S)
        cpu = {pid: use.cpu_s - self._cpu_before(pid) for pid, use in self._last.items()}
        computing = sum(cpu[pid] for pid in self._computing)
        return Cost(sum(cpu.values()), computing, self._peak, self._largest)

    def _sample(self) -> None:
        now: dict[int, Usage] = {}
        for pid in (self.driver, *self.others):
            now |= each_usage(pid)
        for pid in now.keys() - self._last.keys():
            if pid != self.driver and _name(pid).startswith("python"):
                self._computing.add(pid)
        self._last |= now
        self._peak = max(self._peak, sum(use.resident_bytes for use in now.values()))
        sizes = [now[pid].resident_bytes for pid in self._computing & now.keys()]
        self._largest = max([self._largest, *sizes])

    def _cpu_before(self, pid: int) -> float:
        return self._before[pid].cpu_s if pid in self._before else 0.0


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
