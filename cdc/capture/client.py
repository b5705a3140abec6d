"""The client of Kafka Connect's REST API, and functions that wait until the connector streams.

The connector is in state RUNNING before it streams: it streams only once its replication slot is
active.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg

from cdc.contracts.topics import CAPTURED, REFERENCE_TABLES

CONNECTOR: Final = "retail-cdc"
SLOT: Final = "retail_cdc"
PUBLICATION: Final = "retail_cdc"
ACCOUNT: Final = "inventory"  # the only user of Connect's REST API
DEFINITION: Final = Path(__file__).with_name("connector.json")

_PLUGIN: Final = "PostgresConnector"
_POLL_S: Final = 0.1
_FAILED_FOR_S: Final = 60.0


class CaptureError(RuntimeError):
    """Connect refused a request about the connector, or didn't start the connector in time."""


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """The state of the connector and of its only task.

    `connector` and `task` are states of Connect (RUNNING, PAUSED, STOPPED, FAILED, UNASSIGNED), or
    UNREGISTERED or UNREACHABLE. `trace` is the error text, "" if there is no error.
    """

    connector: str
    task: str
    trace: str = ""

    @property
    def running(self) -> bool:
        """Return True if connector and task both run."""
        return self.connector == self.task == "RUNNING"

    @property
    def failed(self) -> bool:
        """Return True if the connector or its task has failed."""
        return "FAILED" in (self.connector, self.task)


def connector_config(host: str, port: int, dbname: str = "retail") -> dict[str, str]:
    """Return the connector's configuration for one Postgres server.

    It is the template `connector.json`, filled with the captured tables and the server's address.
    """
    text = DEFINITION.read_text(encoding="utf-8")
    for name, tables in (("<captured>", CAPTURED), ("<reference>", REFERENCE_TABLES)):
        text = text.replace(name, "|".join(tables))
    config: dict[str, str] = json.loads(text)
    return config | {
        "database.hostname": host,
        "database.port": str(port),
        "database.dbname": dbname,
    }


def _problems(answer: Mapping[str, Any]) -> str:
    found = [
        f"{entry['value']['name']}: {'; '.join(entry['value']['errors'])}"
        for entry in answer.get("configs", ())
        if entry["value"]["errors"]
    ]
    return " | ".join(found)


class ConnectClient:
    """A client for the connector `CONNECTOR` in Connect's REST API.

    Most methods raise `httpx.HTTPError` if Connect can't be reached or answers with an error. The
    methods `healthy`, `state` and `snapshot_ended` return a value instead.
    """

    def __init__(self, url: str, password: str, *, timeout_s: float = 30.0) -> None:
        self._http = httpx.Client(
            base_url=url, auth=(ACCOUNT, password), timeout=timeout_s, trust_env=False
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def healthy(self) -> bool:
        """Return True if Connect's worker has joined its group and answers requests."""
        try:
            return self._http.get("/health").status_code == HTTPStatus.OK
        except httpx.HTTPError:
            return False

    def validate(self, config: Mapping[str, str]) -> None:
        """Raise `CaptureError` with every error that Connect finds in `config`."""
        body = {"name": CONNECTOR, **config}
        path = f"/connector-plugins/{_PLUGIN}/config/validate"
        answer = self._http.put(path, json=body).raise_for_status().json()
        if answer["error_count"]:
            message = f"connector {CONNECTOR}: {answer['error_count']} errors: {_problems(answer)}"
            raise CaptureError(message)

    def current_config(self) -> dict[str, str] | None:
        """Return the connector's configuration in Connect, or None if it is not registered."""
        answer = self._http.get(f"/connectors/{CONNECTOR}/config")
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return None
        found: dict[str, str] = answer.raise_for_status().json()
        found.pop("name", None)
        return found

    def register(self, config: Mapping[str, str], *, timeout_s: float = 60.0) -> bool:
        """Register `config` with Connect. Return False if Connect has this configuration already.

        A PUT restarts the connector's task, so it is sent only if the configuration is different.

        Raises:
            CaptureError: Connect finds errors in `config` or refuses it, or its group still
                rebalances after `timeout_s` seconds.
        """
        deadline = time.monotonic() + timeout_s
        if self.current_config() == dict(config):
            return False
        self.validate(config)
        while True:
            answer = self._http.put(f"/connectors/{CONNECTOR}/config", json=dict(config))
            # Connect answers 409 during a rebalance of its group. The same call succeeds later.
            if answer.status_code != HTTPStatus.CONFLICT or time.monotonic() > deadline:
                break
            time.sleep(_POLL_S)
        if answer.is_error:
            message = (
                f"connector {CONNECTOR}: Connect answered {answer.status_code} and kept its "
                f"former configuration: {answer.text[:500]}"
            )
            raise CaptureError(message)
        return True

    def state(self) -> ConnectorState:
        """Return the state of connector and task, or `UNREACHABLE` if Connect doesn't answer."""
        try:
            answer = self._http.get(f"/connectors/{CONNECTOR}/status")
        except httpx.HTTPError as error:
            return ConnectorState("UNREACHABLE", "UNREACHABLE", str(error))
        if answer.is_error:
            name = "UNREGISTERED" if answer.status_code == HTTPStatus.NOT_FOUND else "UNASSIGNED"
            return ConnectorState(name, name, answer.text[:200])
        body = answer.json()
        tasks = body.get("tasks") or [{}]
        trace = body["connector"].get("trace") or tasks[0].get("trace") or ""
        return ConnectorState(
            body["connector"]["state"], tasks[0].get("state", "UNASSIGNED"), trace
        )

    def snapshot_ended(self) -> bool:
        """Return True if Debezium has ended its snapshot and Connect has stored this progress.

        Topic `stock.events` then has all rows of the snapshot, because Connect stores an offset
        only after the broker has acknowledged the records up to it. A restart of the connector
        doesn't repeat the snapshot. Return False if Connect doesn't answer, or
        answers with an error.
        """
        try:
            answer = self._http.get(f"/connectors/{CONNECTOR}/offsets")
        except httpx.HTTPError:
            return False
        found = [] if answer.is_error else [entry["offset"] for entry in answer.json()["offsets"]]
        return any("snapshot" not in at or at.get("snapshot_completed") is True for at in found)

    def pause(self) -> None:
        """Pause the task. A paused task reads nothing, but keeps its connection to the slot."""
        self._http.put(f"/connectors/{CONNECTOR}/pause").raise_for_status()

    def stop(self) -> None:
        """Stop the task. Configuration and offsets remain."""
        self._http.put(f"/connectors/{CONNECTOR}/stop").raise_for_status()

    def delete_offsets(self, config: Mapping[str, str]) -> None:
        """Stop the connector and delete its stored offsets, so that it takes a new snapshot.

        Connect keeps the offsets of a deleted connector, and deletes offsets only of a stopped
        connector. If the connector is missing, it is first registered as stopped, with `config`.

        Raises:
            CaptureError: Connect refuses for 60 s. The offsets remain.
        """
        if self.state().connector == "UNREGISTERED":
            body = {"name": CONNECTOR, "config": dict(config), "initial_state": "STOPPED"}
            self._http.post("/connectors", json=body).raise_for_status()
        else:
            self.stop()
        deadline = time.monotonic() + _FAILED_FOR_S
        while True:
            answer = self._http.delete(f"/connectors/{CONNECTOR}/offsets")
            # Connect refuses until the task has ended, and while its group rebalances.
            if not answer.is_error or time.monotonic() > deadline:
                break
            time.sleep(_POLL_S)
        if answer.is_error:
            message = (
                f"connector {CONNECTOR}: Connect answered {answer.status_code} and deleted no "
                f"offsets: {answer.text[:500]}"
            )
            raise CaptureError(message)

    def resume(self) -> None:
        """Resume a paused or stopped connector."""
        self._http.put(f"/connectors/{CONNECTOR}/resume").raise_for_status()

    def resume_if_paused(self) -> None:
        """Resume the connector if it is paused or stopped."""
        if self.state().connector in ("PAUSED", "STOPPED"):
            self.resume()

    def restart_failed(self) -> None:
        """Restart the connector if it has failed, and the task if it has failed."""
        self._http.post(
            f"/connectors/{CONNECTOR}/restart",
            params={"includeTasks": "true", "onlyFailed": "true"},
        ).raise_for_status()


def client_of(variables: Mapping[str, str], *, timeout_s: float) -> ConnectClient:
    """Return a client with the URL and password of the `INVENTORY_CONNECT_*` variables."""
    password = variables.get("INVENTORY_CONNECT_PASSWORD", "")
    return ConnectClient(variables["INVENTORY_CONNECT_URL"], password, timeout_s=timeout_s)


def slot_active(database_url: str, slot: str = SLOT) -> bool:
    """Return True if a process reads from the replication slot now."""
    statement = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"
    with psycopg.connect(database_url, connect_timeout=5, autocommit=True) as connection:
        row = connection.execute(statement, (slot,)).fetchone()
    return bool(row and row[0])


def wait_streaming(
    client: ConnectClient, database_url: str, *, timeout_s: float = 90.0
) -> ConnectorState:
    """Wait until connector and task run and the slot is active, and return their state.

    The connector streams every row that is committed after this function has returned. Rows that
    were committed before the slot existed get into the topic only by a snapshot.

    Raises:
        CaptureError: the connector doesn't stream after `timeout_s` seconds, or has failed for
            60 s.
    """
    return _until(
        client.state,
        lambda state: _not_streaming(state, database_url),
        timeout_s=timeout_s,
    )


def wait_captured(client: ConnectClient, database_url: str, *, timeout_s: float) -> ConnectorState:
    """Wait until the connector streams and Connect has stored the end of the connector's snapshot.

    Return the connector's state. The snapshot must have at least one row, because Connect stores
    offsets only with records.

    Raises:
        CaptureError: the end of the snapshot is not stored after `timeout_s` seconds, or the
            connector has failed for 60 s.
    """

    def missing(state: ConnectorState) -> str:
        if problem := _not_streaming(state, database_url):
            return problem
        return "" if client.snapshot_ended() else "Connect has not stored the end of its snapshot"

    return _until(client.state, missing, timeout_s=timeout_s)


def _not_streaming(state: ConnectorState, database_url: str) -> str:
    """Return the reason why the connector doesn't stream, or "" if it streams."""
    if not state.running:
        return "its task does not run"
    return "" if slot_active(database_url) else f"slot {SLOT} is not active"


def _until(
    read_state: Callable[[], ConnectorState],
    missing: Callable[[ConnectorState], str],
    *,
    timeout_s: float,
    failed_for_s: float = _FAILED_FOR_S,
) -> ConnectorState:
    """Read the state every 0.1 s until `missing` returns an empty text, and return the state.

    Raises:
        CaptureError: `missing` still returns a text after `timeout_s` seconds, or the connector has
            been in state FAILED for `failed_for_s` seconds. Connect doesn't restart a failed task.
    """
    began = alive_at = time.monotonic()
    while True:
        state, now = read_state(), time.monotonic()
        problem = missing(state)
        if not problem:
            return state
        alive_at = alive_at if state.failed else now
        if now - began > timeout_s or now - alive_at > failed_for_s:
            message = (
                f"connector {CONNECTOR} is not ready after {now - began:.0f} s: {problem} "
                f"(connector {state.connector}, task {state.task})\n"
                f"{state.trace[:2000]}"
            )
            raise CaptureError(message)
        time.sleep(_POLL_S)
