"""Processes of one start of a recomputation, found in /proc by a mark in their environment."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from deploy.stack.processes import ProcessId, alive, start_ticks

MARK = "KILLS_MARK"
# Parts of command lines; the first that fits names the role.
ROLES = (
    ("CoarseGrainedExecutorBackend", "executor"),
    ("pyspark.daemon", "Python worker"),
    ("multiprocessing.spawn", "pool process"),
    ("org.apache.spark.deploy.SparkSubmit", "JVM"),
    ("deploy.cli.main", "driver"),
)


@dataclass(frozen=True, slots=True)
class Victim:
    """A process and its role in the recomputation."""

    role: str
    process: ProcessId


def processes(mark: str, cluster: Path) -> Iterator[Victim]:
    """Yield the living processes of a start: those with the mark, and executors of the cluster.

    A standalone worker starts executors with its own environment, below its own directory.
    """
    for directory in Path("/proc").glob("[0-9]*"):
        pid = int(directory.name)
        started = start_ticks(pid)
        command = _text(directory / "cmdline")
        if started is None or not command:
            continue
        role = next((name for part, name in ROLES if part in command), "other")
        is_marked = f"{MARK}={mark}" in _text(directory / "environ")
        if is_marked or (role in ("executor", "Python worker") and _is_below(directory, cluster)):
            yield Victim(role, ProcessId(pid, started))


def living(victims: list[Victim]) -> list[Victim]:
    """Return the processes among `victims` that have not ended."""
    return [victim for victim in victims if alive(victim.process)]


def _text(path: Path) -> str:
    """Return the strings of a file in /proc, one per line; empty if the process has ended."""
    try:
        return path.read_bytes().replace(b"\0", b"\n").decode("utf-8", "replace")
    except OSError:
        return ""


def _is_below(directory: Path, cluster: Path) -> bool:
    try:
        return (directory / "cwd").readlink().is_relative_to(cluster)
    except OSError:
        return False
