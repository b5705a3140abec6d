"""`python -m cdc.capture.reconciler`: a process that keeps change capture in its requested state.

Every second it compares the connector with its definition. While `app.capture` has a person's
request for a pause, the process pauses the connector. Otherwise it registers a connector that is
missing or differs from its definition, resumes one that was paused or stopped, and restarts a
failed task. Connect keeps the offsets of a deleted connector, so a new registration loses no
change.

If publication, replica identity or slot are damaged, the process stops the connector. A connector
that continued would leave changes out of the log without any error. Pages and `inventory status`
report the stop.
"""

import os
import threading
import time
from dataclasses import dataclass
from typing import Final

import httpx
import structlog
from psycopg.conninfo import conninfo_to_dict
from psycopg.types.json import Jsonb

from cdc.capture.client import CaptureError, ConnectClient, ConnectorState, connector_config
from cdc.capture.restart_policy import RestartPolicy
from cdc.capture.source import Connection, Damage, damage_of, paused_by, slot_of, store_publication
from cdc.logs import configure_logging
from cdc.processes import RETRY_AFTER_S, stop_event, work_in_database
from cdc.service_errors import ServiceError, record_error
from cdc.settings import Connections

SERVICE: Final = "capture"
CONNECTOR_SERVICE: Final = "connector"
RECONCILE_EVERY_S: Final = 1.0
_REQUEST_S: Final = 10.0
_LOCK: Final = "SELECT pg_try_advisory_lock(hashtextextended('inventory-capture', 0))"
_ALIVE: Final = """
INSERT INTO read_model.service_heartbeat (service, pid, at, detail)
VALUES (%s, %s, clock_timestamp(), %s)
ON CONFLICT (service) DO UPDATE
    SET pid = excluded.pid, at = excluded.at, detail = excluded.detail
"""
_AWAY: Final = ("UNREACHABLE", "UNASSIGNED")
_HALTED: Final = ("PAUSED", "STOPPED")

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Report:
    """The result of the last comparison, stored in `read_model.service_heartbeat.detail`.

    `repaired` is the last repair. `repairs` is the number of repairs since the process started.
    `problem` is damage in Postgres, or the reason why a repair failed. `error` is the error of a
    failed connector or task. If Connect can't be reached, `error` is "Connect does not answer".
    """

    connector: str = ""
    task: str = ""
    repairs: int = 0
    repaired: str = ""
    problem: str = ""
    paused_by: str = ""
    error: str = ""

    def detail(self) -> dict[str, str | int]:
        """Return the report as a JSON object."""
        return {name: getattr(self, name) for name in self.__slots__}


class Reconciler:
    """A component that compares the connector with its definition and repairs it.

    `RestartPolicy` limits the restarts.
    """

    def __init__(self, client: ConnectClient, config: dict[str, str]) -> None:
        self.report = Report()
        self._client = client
        self._config = config
        self.restart_policy = RestartPolicy()
        self._error = ""

    def new_error(self) -> str:
        """Return the present error, or "" if the previous call had the same error."""
        error = self.report.problem or self.report.error
        is_new, self._error = error != self._error, error
        return error if is_new else ""

    def reconcile(self, connection: Connection, now: float) -> None:
        """Compare once, make at most one repair, and update `report`.

        A repair that Connect refuses is logged. The next call tries it again.

        Raises:
            psycopg.Error: Postgres does not answer.
        """
        damage, by = damage_of(connection), paused_by(connection)
        state = self._client.state()
        self.report.connector, self.report.task = state.connector, state.task
        self.report.paused_by = by
        self.report.problem = f"{damage.part} {damage.found}" if damage else ""
        self.report.error = _error_of(state)
        if state.connector == "UNREACHABLE":
            return
        try:
            self._repair(state, damage, by, now)
        except (httpx.HTTPError, CaptureError) as problem:
            # Connect refuses while it restarts or rebalances. The next call tries the repair again.
            self.report.problem = self.report.problem or str(problem)[:300]
            log.warning("capture_not_repaired", problem=str(problem)[:300])
            return
        if state.running and not damage and _streams(connection):
            store_publication(connection)

    def _repair(self, state: ConnectorState, damage: Damage | None, by: str, now: float) -> None:
        if damage:
            if state.connector not in (*_HALTED, "UNREGISTERED"):
                self._client.stop()
                self._count("stopped", damage.found)
            return
        if by:
            if state.connector not in (*_HALTED, *_AWAY, "UNREGISTERED"):
                self._client.pause()
                self._count("paused", by)
            return
        if self._client.register(self._config, timeout_s=_REQUEST_S):
            self._count("registered", state.connector)
        elif state.connector in _HALTED:
            self._client.resume()
            self._count("resumed", state.connector)
        elif self.restart_policy.is_restart_due(now, failed=state.failed):
            self.restart_failed(now, state.trace)

    def restart_failed(self, now: float, trace: str) -> None:
        """Restart a failed task, and count the restart.

        A restart is also counted if Connect got the request, but its answer was lost.

        Raises:
            httpx.HTTPError: Connect refused, or got no request. Nothing is counted.
        """
        try:
            self._client.restart_failed()
        except (httpx.ReadTimeout, httpx.ReadError, httpx.RemoteProtocolError) as lost:
            # Connect has the request and may restart the task, so this counts as a restart.
            log.warning("capture_restart_unanswered", problem=repr(lost))
        self.restart_policy.count_restart(now)
        self._count("restarted", trace.partition("\n")[0][:300])

    def _count(self, action: str, reason: str) -> None:
        self.report.repairs += 1
        self.report.repaired = action
        log.warning("capture_repaired", action=action, reason=reason)


def _error_of(state: ConnectorState) -> str:
    """Return the present error of Connect, the connector or its task as one line, or ""."""
    if state.connector == "UNREACHABLE":
        return "Connect does not answer"
    if not state.failed:
        return ""
    return state.trace.partition("\n")[0][:300] or "the connector or its task has failed"


def _streams(connection: Connection) -> bool:
    slot = slot_of(connection)
    return slot is not None and slot.active


def config_of(database_url: str) -> dict[str, str]:
    """Return the connector's definition with host and port of `database_url`."""
    parts = conninfo_to_dict(database_url)
    return connector_config(str(parts["host"]), int(parts.get("port") or 5432))


def run(connections: Connections, stop: threading.Event) -> None:
    """Compare the connector with its definition and repair it, until `stop` is set.

    While another reconciler runs, or the connection to the database is lost, this one waits.
    """
    url = connections.database_url.get_secret_value()
    password = connections.connect_password.get_secret_value()
    client = ConnectClient(connections.connect_url, password, timeout_s=_REQUEST_S)
    reconciler = Reconciler(client, config_of(url))
    work_in_database(
        url,
        "inventory-capture",
        lambda connection: _reconcile_until(reconciler, connection, stop),
        stop,
    )
    client.close()


def _reconcile_until(reconciler: Reconciler, connection: Connection, stop: threading.Event) -> None:
    while not stop.is_set() and connection.execute(_LOCK).fetchone() != (True,):
        stop.wait(RETRY_AFTER_S)
    log.info("capture_reconciler_started")
    while not stop.is_set():
        reconciler.reconcile(connection, time.monotonic())
        connection.execute(_ALIVE, (SERVICE, os.getpid(), Jsonb(reconciler.report.detail())))
        if error := reconciler.new_error():
            record_error(connection, ServiceError(CONNECTOR_SERVICE, error))
        stop.wait(RECONCILE_EVERY_S)


def main() -> None:
    """Run the reconciler until SIGTERM or SIGINT."""
    configure_logging(service=SERVICE)
    run(Connections(), stop_event())


if __name__ == "__main__":
    main()
