"""A standalone Spark cluster on loopback, from pyspark's own jars, for benchmarks and tests.

Its processes get neither this project's Python path nor this project's directory. So a job must
send its code to the workers, as on a cluster of other machines. Otherwise it fails here, too.
"""

import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from deploy.artifacts.install import AGAIN
from deploy.artifacts.prerequisites import require_java
from deploy.errors import StackError
from deploy.stack.ports import free_port
from deploy.stack.processes import end, identify, spawn, wait_until

LOOPBACK: Final = "127.0.0.1"
_MASTER: Final = "org.apache.spark.deploy.master.Master"
_WORKER: Final = "org.apache.spark.deploy.worker.Worker"
_READY_S: Final = 600.0  # a JVM takes seconds to start, and minutes on a busy machine
_LOG_CHARS: Final = 800
_INHERITED: Final = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR")


@dataclass(frozen=True, slots=True)
class StandaloneCluster:
    """The address of a running master, and the process ids of the master and the workers."""

    address: str
    pids: tuple[int, ...]


@contextmanager
def standalone(directory: Path, *, workers: int = 1, cores: int = 1) -> Iterator[StandaloneCluster]:
    """Run a master and `workers` workers, each with `cores` cores and 2 GiB, until the block ends.

    `directory` gets their logs and the executors' directories.

    Raises:
        StackError: pyspark or Java is missing, or a process didn't start.
    """
    directory.mkdir(parents=True, exist_ok=True)
    port = free_port()
    address = f"spark://{LOOPBACK}:{port}"
    web = ["--host", LOOPBACK, "--webui-port", "0"]
    with ExitStack() as stack:
        master = [_MASTER, *web, "--port", str(port)]
        pids = [stack.enter_context(_running("master", master, directory, r"New state: ALIVE"))]
        for number in range(1, workers + 1):
            scratch = directory / f"worker-{number}"
            size = ["--cores", str(cores), "--memory", "2g", "--work-dir", str(scratch)]
            command = [_WORKER, *web, *size, address]
            is_ready = r"Successfully registered with master"
            worker = _running(f"worker-{number}", command, directory, is_ready)
            pids.append(stack.enter_context(worker))
        yield StandaloneCluster(address, tuple(pids))


@contextmanager
def _running(name: str, command: list[str], directory: Path, ready: str) -> Iterator[int]:
    log = directory / f"{name}.log"
    process = spawn(
        [str(_spark_home() / "bin" / "spark-class"), *command],
        environment=_environment(),
        directory=directory,
        log=log,
    )
    try:
        ended: Callable[[], bool] = lambda: process.poll() is not None  # noqa: E731 -- used twice
        is_ready: Callable[[], bool] = lambda: re.search(ready, _text(log)) is not None  # noqa: E731 -- as above
        wait_until(lambda: ended() or is_ready(), timeout_s=_READY_S)
        if not is_ready():
            raise _not_started(name, process.poll(), log)
        yield process.pid
    finally:
        end([identify(process.pid)], signal.SIGTERM)
        process.wait()


def _not_started(name: str, code: int | None, log: Path) -> StackError:
    """Return the error of a process that did not start.

    `code` is its exit code. None means that it still runs, but was not ready in time.
    """
    tail = _text(log)[-_LOG_CHARS:].strip() or "nothing"
    if code is None:
        message = f"Spark's {name} was not ready after {_READY_S:.0f} s; its log has: {tail}"
        return StackError(message, repair="start the command again when the machine is less busy")
    message = f"Spark's {name} ended with exit code {code}; its log has: {tail}"
    return StackError(message, repair=AGAIN)


def _environment() -> dict[str, str]:
    known = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    java = Path(require_java()).resolve().parents[1]
    return known | {
        "JAVA_HOME": str(java),
        "SPARK_HOME": str(_spark_home()),
        "SPARK_LOCAL_IP": LOOPBACK,
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
    }


def _spark_home() -> Path:
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        message = "pyspark is missing"
        raise StackError(message, repair="make install")
    return Path(found.origin).parent


def _text(log: Path) -> str:
    return log.read_text("utf-8", errors="replace") if log.exists() else ""
