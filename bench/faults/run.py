"""Random kills and freezes of a running stack's parts under load: `inventory bench faults`.

After each fault, the bench sells one key per partition and measures the time until workers show the
new stock of all these keys. If the plan has an interval (`every_s`), the next fault comes after
this interval, without this check. At the end `verify` compares everything with the facts in
Postgres.
"""

import os
import signal
import statistics
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import psycopg

from analytics.verify import verify
from bench.faults.plan import Fault, draw
from bench.faults.probe import Probe, sell
from cdc.settings import Connections

_EVERY_S: Final = 0.2  # between two transactions of `_trading`
_ITEMS: Final = 40
_FRESH_S: Final = 120.0
_VERIFY_S: Final = 300.0
_POLL_S: Final = 0.05

Progress = Callable[[str], None]


class Stack(Protocol):
    """Interface to a running stack for the faults."""

    @property
    def settings(self) -> Connections:
        """Return the addresses of the stack's services."""
        ...

    def workers(self) -> Sequence[str]:
        """Return the names of the stream workers."""
        ...

    def pid_of(self, service: str) -> int | None:
        """Return the pid of the service's current process, None while it has none."""
        ...


@dataclass(frozen=True, slots=True)
class Plan:
    """Parameters of a run.

    `every_s` is the time between two faults in seconds. If it is None, the next fault comes when
    workers show the last sale of all probe keys. `freeze_s` is the time for which a process stays
    suspended.
    """

    seed: int
    rounds: int
    kinds: Sequence[str]
    freeze_s: float
    every_s: float | None = None


@dataclass(slots=True)
class Report:
    """The result of a run.

    `fresh_s` has a list for each kind of fault. An entry has the seconds after one fault until
    workers showed the last sale of every probe key, or None without a measurement. `verified` is
    the report of the final `verify`.
    """

    seed: int
    fresh_s: dict[str, list[float | None]] = field(default_factory=dict)
    transactions: int = 0
    verified: dict[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Return True if `verify` found no difference from the facts."""
        return bool(self.verified.get("ok"))

    def as_json(self) -> dict[str, Any]:
        """Return the report as a JSON object."""
        return {
            "seed": self.seed,
            "ok": self.ok,
            "faults": {kind: len(times) for kind, times in self.fresh_s.items()},
            "fresh_s": {kind: _summary(times) for kind, times in self.fresh_s.items()},
            "transactions": self.transactions,
            "verify": self.verified,
        }

    def as_text(self) -> str:
        """Return the report as a table."""
        lines = [f"seed {self.seed}, {self.transactions} transactions", ""]
        lines.append("fault         times   fresh after s: median      max")
        for kind, times in sorted(self.fresh_s.items()):
            # Round the measured times, and not those of the summary. For 4.449 s, the summary has
            # 4.45 s, which would become 4.5 s here instead of 4.4 s.
            known = _known(times)
            median, most = (statistics.median(known), max(known)) if known else (None, None)
            lines.append(f"{kind:<12} {len(times):>6} {_cell(median):>23} {_cell(most):>8}")
        counts = ("keys_differing", "windows_differing", "duplicate_reorders", "missing_reorders")
        lines += ["", *(f"{name:<20} {self.verified.get(name, '-')}" for name in counts)]
        return "\n".join(lines)


def _summary(times: Sequence[float | None]) -> dict[str, float]:
    known = _known(times)
    if not known:
        return {}
    return {"median": round(statistics.median(known), 2), "max": round(max(known), 2)}


def _known(times: Sequence[float | None]) -> list[float]:
    return [seconds for seconds in times if seconds is not None]


def _cell(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.1f}"


def run(stack: Stack, plan: Plan, progress: Progress) -> Report:
    """Trade, cause the planned faults, then compare the stock with the facts.

    Raises:
        NotFresh: the workers did not show the new stock within 120 s after a fault.
        TimeoutError: the supervisor did not restart a service within 120 s.
    """
    report = Report(plan.seed)
    location = f"FLT-{uuid.uuid4().hex[:6].upper()}"
    probe = Probe(stack.settings, location)
    with _trading(stack.settings, location, report):
        probe.sell()
        probe.wait_fresh(_FRESH_S)
        workers = stack.workers()
        for fault in draw(plan.seed, rounds=plan.rounds, workers=workers, kinds=plan.kinds):
            seconds = _cause_and_measure(stack, fault, plan, probe)
            report.fresh_s.setdefault(fault.kind, []).append(seconds)
            after = f", fresh after {seconds:.1f} s" if seconds is not None else ""
            progress(f"{fault.kind} {' '.join(fault.victims)}{after}")
        probe.sell()
        probe.wait_fresh(_FRESH_S)
    report.verified = verify(timeout=_VERIFY_S, settings=stack.settings).as_json()
    return report


def _cause_and_measure(stack: Stack, fault: Fault, plan: Plan, probe: Probe) -> float | None:
    """Cause the fault. Return the seconds until workers showed the new stock of all probe keys.

    After a freeze, the time begins when the process continues. If `plan.every_s` is set, nothing is
    measured, and the result is None.
    """
    pids = [_pid(stack, name) for name in fault.victims]
    began = time.monotonic()
    _signal(pids, signal.SIGSTOP if fault.is_freeze else signal.SIGKILL)
    if fault.is_freeze:
        try:
            time.sleep(plan.freeze_s)
        finally:
            _signal(pids, signal.SIGCONT)
        began = time.monotonic()
    if plan.every_s is not None:
        time.sleep(max(0.0, began + plan.every_s - time.monotonic()))
        return None
    probe.sell()
    probe.wait_fresh(_FRESH_S)
    return time.monotonic() - began


def _signal(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):  # the process has ended meanwhile
            os.kill(pid, number)


def _pid(stack: Stack, name: str) -> int:
    """Return the pid of the service's process; wait while the supervisor restarts it."""
    deadline = time.monotonic() + _FRESH_S
    while (pid := stack.pid_of(name)) is None:
        if time.monotonic() > deadline:
            problem = f"{name} was not restarted within {_FRESH_S:g} s"
            raise TimeoutError(problem)
        time.sleep(_POLL_S)
    return pid


@contextmanager
def _trading(settings: Connections, location: str, report: Report) -> Iterator[None]:
    """Sell 40 items of the location every 0.2 s, in a thread, until the block ends."""
    stopped = threading.Event()
    items = [f"T{number}" for number in range(_ITEMS)]

    def trade() -> None:
        while not stopped.wait(_EVERY_S):
            try:
                sell(settings, location, items, f"{location}-t{uuid.uuid4().hex[:12]}")
            except psycopg.OperationalError:
                continue  # no retry: the next transaction is a new sale
            report.transactions += 1

    thread = threading.Thread(target=trade, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
