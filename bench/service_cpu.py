"""CPU time of each service of a running stack: at rest, and per line of a load.

A service at rest polls, writes heartbeats and answers probes. This CPU time grows with the duration
of a run and not with its lines. In a slow run each line would seem more expensive. So the CPU time
at rest is measured alone, before the load, and subtracted from the CPU time during the load.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.errors import BenchFailed
from bench.peers.usage import each_usage, usage

SUPERVISOR: Final = "supervisor"
_ALL: Final = "all"
_PARALLEL: Final = ("postgres", "kafka", "connect")


@dataclass(frozen=True, slots=True)
class ServiceCpu:
    """CPU time of one service, or of all.

    `rest_percent` is the share of one core at rest. `line_us` is all CPU time during the load, in
    µs per line. `work_us` is the same without the CPU time that the service needs at rest.
    """

    service: str
    rest_percent: float
    line_us: float
    work_us: float


class CpuMeter:
    """A meter of the processes of a stack; `processes` maps names of services to their pids."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        self._processes = processes
        self._rest: dict[str, float] = {}
        self._before: dict[str, float] = {}
        self._began = 0.0

    def measure_rest(self, seconds: float) -> None:
        """Measure the CPU time of each service at rest, for `seconds` without trade."""
        self.start()
        time.sleep(seconds)
        spent, elapsed = self._spent()
        self._rest = {name: cpu / elapsed for name, cpu in spent.items()}

    def start(self) -> None:
        """Begin to measure the CPU time of a load."""
        self._before = {name: self._cpu_s(name) for name in self._processes}
        self._began = time.monotonic()

    def per_line(self, lines: int) -> tuple[ServiceCpu, ...]:
        """Return the CPU time per line since `start`: by service, largest first, then for all.

        Raises:
            BenchFailed: a service has ended since `start`.
        """
        spent, elapsed = self._spent()
        rest = {name: self._rest.get(name, 0.0) for name in spent}
        rows = [_row(name, cpu, rest[name], elapsed, lines) for name, cpu in spent.items()]
        rows.sort(key=lambda row: -row.line_us)
        return (*rows, _row(_ALL, sum(spent.values()), sum(rest.values()), elapsed, lines))

    def _spent(self) -> tuple[dict[str, float], float]:
        spent = {name: self._cpu_s(name) - cpu for name, cpu in self._before.items()}
        for name, cpu in spent.items():
            if cpu < 0:
                message = f"{name} has ended, so its CPU time is unknown"
                raise BenchFailed(message)
        return spent, time.monotonic() - self._began

    def _cpu_s(self, name: str) -> float:
        pid = self._processes[name]
        if name != SUPERVISOR:
            return usage(pid).cpu_s
        # Leave the supervisor's children out: they are the services, and each has its own row.
        alone = each_usage(pid).get(pid)
        return alone.cpu_s if alone else 0.0


def as_table(rows: tuple[ServiceCpu, ...]) -> list[str]:
    """Return `rows` as a text table, one string per line."""
    return [
        "CPU time       at rest, % of a core   µs per line   without rest",
        *(
            f"{row.service:<14} {row.rest_percent:>20.2f} {row.line_us:>13.1f} {row.work_us:>14.1f}"
            for row in rows
        ),
    ]


def first_full(rows: tuple[ServiceCpu, ...]) -> str:
    """Return a sentence that names the first service to fill a core if the rate rises.

    Postgres, broker and Connect use several cores, so they count only if there is no other service.
    """
    services = [row for row in rows if row.service != _ALL]
    chosen = [row for row in services if row.service not in _PARALLEL] or services
    most = max(chosen, key=lambda row: row.work_us)
    if most.work_us <= 0:
        return "no service used CPU time for the lines"
    rate = f"{1e6 / most.work_us:,.0f} lines/s of the stack"
    return f"first process to fill one core: {most.service}, at {rate}"


def _row(name: str, cpu_s: float, rest: float, elapsed_s: float, lines: int) -> ServiceCpu:
    work_s = cpu_s - rest * elapsed_s
    return ServiceCpu(name, rest * 100, cpu_s * 1e6 / lines, work_s * 1e6 / lines)
