"""Record errors of services and restores of workers in Postgres, for the page System.

The supervisor counts the crashes and repairs of each service. This thread compares the counts with
those of its last round, and writes the last error of each service to `read_model.service_error`. It
also reads the restores of the workers from their logs, and adds them to `read_model.restore`. While
Postgres is down, the thread keeps the newest error of each service and at most 1,000 restores, and
writes them later.
"""

import json
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import psycopg
import structlog
from typing_extensions import override

from cdc.service_errors import ServiceError, record_error
from deploy.stack.context import WORKER_PREFIX
from deploy.stack.exit_reason import exit_reason_of
from deploy.stack.runtime import ServiceRuntime
from deploy.stack.supervisor import Supervisor

_EVERY_S: Final = 2.0
_CONNECT_S: Final = 2
_MOST_WAITING: Final = 1_000
_MOST_BYTES: Final = 4 << 20  # largest number of bytes to read from one log in a round
_READY: Final = '"partition ready"'  # in a worker's log line about the end of a restore
_ADD: Final = """
INSERT INTO read_model.restore (worker, partition, finished_at, seconds, records, keys, kept)
VALUES (%s, %s, %s, %s, %s, %s, %s)
"""
_FORGET: Final = """
DELETE FROM read_model.restore WHERE finished_at < clock_timestamp() - interval '30 days'
"""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Restore:
    """Restore of one partition by a worker. The fields are the columns of `read_model.restore`."""

    worker: str
    partition: int
    finished_at: datetime
    seconds: float
    records: int
    keys: int
    kept: bool


class IncidentThread(threading.Thread):
    """Thread that records new errors and restores every two seconds."""

    def __init__(self, supervisor: Supervisor, database_url: str) -> None:
        super().__init__(name="incidents", daemon=True)
        self._supervisor = supervisor
        self._url = database_url
        self._counts: dict[str, tuple[int, int]] = {}
        self._ends: dict[Path, int] = {}
        self._errors: dict[str, ServiceError] = {}
        self._restores: list[Restore] = []

    @override
    def run(self) -> None:
        """Record until the supervisor stops."""
        while not self._supervisor.stopping.wait(_EVERY_S):
            self.record_new()

    def record_new(self) -> None:
        """Look once for new errors and restores. Write them, and earlier ones not written yet."""
        for name, entry in self._supervisor.report()["services"].items():
            service = ServiceRuntime(**entry)
            self._note_error(name, service)
            if name.startswith(WORKER_PREFIX):
                self._restores += self._new_restores(name, Path(service.log))
        del self._restores[:-_MOST_WAITING]
        if self._errors or self._restores:
            self._write()

    def _note_error(self, name: str, entry: ServiceRuntime) -> None:
        counts = (entry.restarts, entry.repairs)
        before, self._counts[name] = self._counts.get(name, (0, 0)), counts
        message, repair = "", ""
        if counts[1] > before[1]:
            message = entry.last_repair
        elif counts[0] > before[0]:
            reason = exit_reason_of(entry)
            message, repair = reason.problem or ending_text(entry), reason.repair
        if message:
            at = datetime.fromtimestamp(time.time(), UTC)
            self._errors[name] = ServiceError(name, message, repair, at)

    def _new_restores(self, worker: str, path: Path) -> Iterator[Restore]:
        """Yield the restores in the lines that were added to a log since the last call.

        The first call for a log only stores its length, because its lines are from before this
        start.
        """
        try:
            size = path.stat().st_size
            start = self._ends.setdefault(path, size)
            if size < start:  # the log was rotated: the file was emptied
                start = 0
            with path.open("rb") as file:
                file.seek(max(start, size - _MOST_BYTES))
                content = file.read()
        except OSError:
            return
        whole, newline, rest = content.rpartition(b"\n")
        self._ends[path] = max(start, size - _MOST_BYTES) + len(content) - len(rest)
        if newline:
            yield from restores_in(worker, whole.decode("utf-8", "replace"))

    def _write(self) -> None:
        try:
            with psycopg.connect(
                self._url, connect_timeout=_CONNECT_S, application_name="inventory-incidents"
            ) as connection:
                for error in self._errors.values():
                    record_error(connection, error)
                for each in self._restores:
                    connection.execute(_ADD, _columns(each))
                if self._restores:
                    connection.execute(_FORGET)
        except psycopg.Error as problem:
            log.debug("incidents wait for Postgres", error=str(problem).strip())
            return
        self._errors.clear()
        self._restores.clear()


def ending_text(entry: ServiceRuntime) -> str:
    """Return a text about a service's last exit: `ended with exit code 1 after 3.4 s`."""
    code = entry.last_exit or 0
    try:
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else ""
    except ValueError:
        how = ""
    return f"{how or f'ended with exit code {code}'} after {entry.lived_s} s"


def restores_in(worker: str, lines: str) -> Iterator[Restore]:
    """Yield the restores in `lines` of a worker's log. Leave out other and damaged lines."""
    for line in lines.splitlines():
        if _READY not in line:
            continue
        try:
            found: dict[str, Any] = json.loads(line)
            yield Restore(
                worker=worker,
                partition=int(found["partition"]),
                finished_at=datetime.fromisoformat(found["timestamp"]),
                seconds=float(found["seconds"]),
                records=int(found["records"]),
                keys=int(found["keys"]),
                kept=bool(found["kept"]),
            )
        except (ValueError, KeyError, TypeError):
            continue


def _columns(each: Restore) -> tuple[object, ...]:
    return (
        *(each.worker, each.partition, each.finished_at, each.seconds),
        *(each.records, each.keys, each.kept),
    )
