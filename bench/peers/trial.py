"""One run of one peer: start, first record, last committed record, end, comparison, restore."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from subprocess import Popen
from typing import Final

from bench.children import log_tail, stop
from bench.errors import BenchFailed
from bench.peers.groups import step_back
from bench.peers.peer import Peer, PeerContext, Services
from bench.peers.sales import Sums
from bench.peers.usage import usage

_POLL_S: Final = 0.1
MEGABYTE: Final = 1_000_000


class PeerFailed(RuntimeError):
    """A peer ended early or timed out."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Measurements between the first record's arrival and the commit of the last one.

    `start_s` is the time before them: from the start of the process to the first record's arrival.
    `beside_cpu_s` is the CPU time of a server that works only for the peer (Postgres). `peak_bytes`
    is the highest memory use of the peer's own processes. It doesn't include that server.
    """

    records: int
    start_s: float
    wall_s: float
    cpu_s: float
    beside_cpu_s: float
    broker_cpu_s: float
    peak_bytes: int
    load: float


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of one run; `figures` is None if the peer failed or its outputs were wrong.

    `problem` is empty, or the reason why figures or the restore time are missing.
    """

    peer: str
    figures: Figures | None = None
    differing: int = 0
    restore_s: float | None = None
    problem: str = ""


class Run:
    """A started peer that is observed until a condition holds."""

    def __init__(self, peer: Peer, context: PeerContext, deadline: float) -> None:
        self._peer = peer
        self._context = context
        self._deadline = deadline
        self.peak_bytes = 0
        self.began_at = time.monotonic()
        arguments = [
            *("--bootstrap", context.services.bootstrap, "--topic", context.topic),
            *("--name", context.name, "--directory", str(context.directory)),
        ]
        self._process: Popen[bytes] = context.services.start(
            [*context.services.launchers[peer.environment], *peer.command(context), *arguments],
            peer.variables(context),
            context.directory / "peer.log",
        )

    def cpu(self) -> tuple[float, float, float]:
        """Return the CPU seconds of the peer, of its server and of the broker."""
        services = self._context.services
        beside = self._peer.beside(services)
        return (
            usage(self._process.pid).cpu_s,
            usage(beside).cpu_s if beside else 0.0,
            usage(services.broker_pid).cpu_s,
        )

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for `condition`.

        Raises:
            PeerFailed: the process has ended or the deadline has passed.
        """
        while True:
            # Read before the condition, because a peer may finish its work and end in between.
            ended = self._has_ended()
            self.peak_bytes = max(self.peak_bytes, usage(self._process.pid).resident_bytes)
            if condition():
                return
            if ended:
                tail = log_tail(self._context.directory / "peer.log")
                problem = f"ended with {self._process.wait()} before {what}: {tail}"
                raise PeerFailed(problem)
            if time.monotonic() > self._deadline:
                problem = f"timed out before {what}"
                raise PeerFailed(problem)
            time.sleep(_POLL_S)

    def _has_ended(self) -> bool:
        """Return True if the process has ended; its usage stays readable until `stop`."""
        pid = self._process.pid
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def stop(self, *, terminate: bool = True) -> None:
        """Stop the process. If `terminate` is False, only wait until it ends by itself."""
        stop(self._process, terminate=terminate)


def run(peer: Peer, context: PeerContext, records: int, expected: Sums, timeout_s: float) -> Trial:
    """Run the job on `peer` once. Return figures if the outputs are correct, else the problem."""
    try:
        peer.prepare(context)
        figures = _measured(peer, context, records, timeout_s)
        differing = expected.differing(peer.outputs(context))
        if differing:
            return Trial(peer.name, differing=differing, problem="wrong")
    except PeerFailed as failure:
        return Trial(peer.name, problem=str(failure))
    except Exception as failure:  # noqa: BLE001 -- other peers still run
        return Trial(peer.name, problem=repr(failure))
    if not peer.restores:
        return Trial(peer.name, figures)
    try:
        return Trial(peer.name, figures, restore_s=_restored(peer, context, timeout_s))
    except (PeerFailed, BenchFailed) as failure:
        return Trial(peer.name, figures, problem=f"restore: {failure}")


def _measured(peer: Peer, context: PeerContext, records: int, timeout_s: float) -> Figures:
    begun = peer.begun(context)
    running = Run(peer, context, time.monotonic() + timeout_s)
    try:
        running.until(begun, "its first record")
        first_at, at_first = time.monotonic(), running.cpu()
        running.until(lambda: peer.position(context) >= records, "its last commit")
        wall_s, at_last = time.monotonic() - first_at, running.cpu()
        if peer.ends_itself:
            running.stop(terminate=False)
        spent = [after - before for before, after in zip(at_first, at_last, strict=True)]
        return Figures(
            records=records,
            start_s=first_at - running.began_at,
            wall_s=wall_s,
            cpu_s=spent[0],
            beside_cpu_s=spent[1],
            broker_cpu_s=spent[2],
            peak_bytes=running.peak_bytes,
            load=os.getloadavg()[0],
        )
    finally:
        running.stop()


def _restored(peer: Peer, context: PeerContext, timeout_s: float) -> float:
    """Return the seconds from a start with an empty directory to the first processed record.

    If the peer has a condition `restored`, the time ends when this condition is true.
    """
    step_back(context.services.bootstrap, context.name, context.topic)
    again = context.directory.with_name(f"{context.directory.name}-restore")
    again.mkdir()
    cold = replace(context, directory=again)
    restored = (peer.restored or peer.begun)(cold)
    running = Run(peer, cold, time.monotonic() + timeout_s)
    try:
        running.until(restored, "its first record after the restore")
        return time.monotonic() - running.began_at
    finally:
        running.stop()


def environment_problem(peer: Peer, services: Services) -> str:
    """Return the reason why the peer cannot run here, or ""."""
    return services.missing.get(peer.environment, "")
