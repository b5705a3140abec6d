"""Workers as child processes of the benchmark, each with its own port and directory."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from subprocess import Popen
from typing import Final

import httpx

from bench.children import log_tail, stop
from bench.errors import BenchFailed
from bench.peers.peer import Services
from bench.peers.usage import usage

_POLL_S: Final = 0.1


class Fleet:
    """The started workers: their addresses, CPU time and state."""

    def __init__(self, urls: Sequence[str], token: str, logs: Sequence[Path]) -> None:
        self.urls = urls
        self.token = token
        self._logs = logs
        self._processes: list[Popen[bytes]] = []

    def add(self, process: Popen[bytes]) -> None:
        """Add a running worker."""
        self._processes.append(process)

    def cpu_s(self) -> float:
        """Return the CPU seconds of all workers so far."""
        return sum(usage(process.pid).cpu_s for process in self._processes)

    def owners(self) -> set[str]:
        """Return the names of the workers that own partitions.

        The set is empty while a partition is not RUNNING, or if the first worker doesn't answer.
        """
        headers = {"Authorization": f"Bearer {self.token}"}
        try:
            path = f"{self.urls[0]}/iq/v1/partitions"
            answer = httpx.get(path, headers=headers, timeout=5, trust_env=False)
        except httpx.HTTPError:
            return set()
        if answer.status_code != HTTPStatus.OK:
            return set()
        rows = answer.json()["partitions"]
        if any(row["state"] != "RUNNING" for row in rows):
            return set()
        return {row["worker"] for row in rows}

    def until(self, condition: Callable[[], bool], what: str, timeout_s: float) -> None:
        """Wait for `condition`.

        Raises:
            BenchFailed: a worker has ended, or the deadline has passed.
        """
        deadline = time.monotonic() + timeout_s
        while not condition():
            for process, log in zip(self._processes, self._logs, strict=True):
                if process.poll() is not None:
                    tail = log_tail(log)
                    problem = f"a worker ended with {process.returncode} before {what}: {tail}"
                    raise BenchFailed(problem)
            if time.monotonic() > deadline:
                problem = f"after {timeout_s:.0f} s still no {what}"
                raise BenchFailed(problem)
            time.sleep(_POLL_S)

    def stop(self) -> None:
        """Send SIGTERM to all workers, then wait until each has ended."""
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            stop(process, terminate=False)


@contextmanager
def started(services: Services, ports: Sequence[int], directory: Path) -> Iterator[Fleet]:
    """Start a worker on each port; stop them at the end of the block."""
    urls = [f"http://127.0.0.1:{port}" for port in ports]
    homes = [directory / f"worker-{number}" for number, _ in enumerate(ports, 1)]
    token = services.worker_environment["INVENTORY_QUERY_TOKEN"]
    fleet = Fleet(urls, token, [home / "worker.log" for home in homes])
    try:
        for home, port in zip(homes, ports, strict=True):
            home.mkdir(parents=True)
            variables = {
                **services.worker_environment,
                "INVENTORY_HOME": str(home),
                "INVENTORY_WORKER_ID": home.name,
                "INVENTORY_WORKER_PORT": str(port),
                "INVENTORY_WORKER_URLS": ",".join(urls),
            }
            launcher = services.launchers["ours"]
            command = [*launcher, "-m", "streams.worker"]
            fleet.add(services.start(command, variables, home / "worker.log"))
        yield fleet
    finally:
        fleet.stop()
