"""Client of Connect's REST API: it registers the Debezium connector and waits for streaming.

A PUT restarts the connector's tasks, so it is skipped if Connect already has our configuration. The
connector is ready only when its replication slot is active: status RUNNING comes earlier.
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
ACCOUNT: Final = "inventory"  # the only account of Connect's REST API
DEFINITION: Final = Path(__file__).with_name("connector.json")

_PLUGIN: Final = "PostgresConnector"
_POLL_S: Final = 0.1
_FAILED_FOR_S: Final = 60.0


class CaptureError(RuntimeError):
    """Connect refused the connector or did not start it in time."""


@dataclass(frozen=True, slots=True)
class ConnectorState:
    """The state of the connector and its only task, from Connect's status."""

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
    """Return the committed connector definition with our tables and the address of one Postgres."""
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
    """The calls of Connect's REST API that this project makes."""

    def __init__(self, url: str, password: str, *, timeout_s: float = 30.0) -> None:
        self._http = httpx.Client(base_url=url, auth=(ACCOUNT, password), timeout=timeout_s)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def healthy(self) -> bool:
        """Return True if the Connect worker has joined its group and answers for its connectors."""
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
        """Return the configuration in Connect, or None before the first registration."""
        answer = self._http.get(f"/connectors/{CONNECTOR}/config")
        if answer.status_code == HTTPStatus.NOT_FOUND:
            return None
        found: dict[str, str] = answer.raise_for_status().json()
        found.pop("name", None)
        return found

    def register(self, config: Mapping[str, str], *, timeout_s: float = 60.0) -> bool:
        """Register `config` with Connect. Return False if it was registered already."""
        deadline = time.monotonic() + timeout_s
        if self.current_config() == dict(config):
            return False
        self.validate(config)
        while True:
            answer = self._http.put(f"/connectors/{CONNECTOR}/config", json=dict(config))
            # 409 means that the group rebalances. The same call succeeds a moment later.
            if answer.status_code != HTTPStatus.CONFLICT or time.monotonic() > deadline:
                break
            time.sleep(_POLL_S)
        if answer.is_error:
            message = f"connector {CONNECTOR}: PUT gave {answer.status_code}: {answer.text[:500]}"
            raise CaptureError(message)
        return True

    def state(self) -> ConnectorState:
        """Return the state of connector and task: `UNASSIGNED` if Connect names none."""
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
        """Return True if the log holds the complete snapshot, so that no restart repeats it.

        Connect stores its offsets only after the records are acknowledged, so they are the
        evidence.
        """
        try:
            answer = self._http.get(f"/connectors/{CONNECTOR}/offsets")
        except httpx.HTTPError:
            return False
        found = [] if answer.is_error else [entry["offset"] for entry in answer.json()["offsets"]]
        return any("snapshot" not in at or at.get("snapshot_completed") is True for at in found)

    def pause(self) -> None:
        """Pause the task. It reads nothing and keeps its connection to the slot."""
        self._http.put(f"/connectors/{CONNECTOR}/pause").raise_for_status()

    def stop(self) -> None:
        """Stop the task. Configuration and offsets remain."""
        self._http.put(f"/connectors/{CONNECTOR}/stop").raise_for_status()

    def delete_offsets(self, config: Mapping[str, str]) -> None:
        """Stop the connector, registered with `config` if it is missing, and delete its offsets.

        Connect keeps the offsets of a connector that was deleted, and deletes only those of one
        that is stopped.
        """
        if self.state().connector == "UNREGISTERED":
            body = {"name": CONNECTOR, "config": dict(config), "initial_state": "STOPPED"}
            self._http.post("/connectors", json=body).raise_for_status()
        else:
            self.stop()
        deadline = time.monotonic() + _FAILED_FOR_S
        while True:
            answer = self._http.delete(f"/connectors/{CONNECTOR}/offsets")
            # Refused until its task has ended, and while the group rebalances.
            if not answer.is_error or time.monotonic() > deadline:
                break
            time.sleep(_POLL_S)
        if answer.is_error:
            message = f"connector {CONNECTOR}: Connect kept its offsets: {answer.text[:500]}"
            raise CaptureError(message)

    def resume(self) -> None:
        """Resume a paused or stopped connector."""
        self._http.put(f"/connectors/{CONNECTOR}/resume").raise_for_status()

    def resume_if_paused(self) -> None:
        """Resume the connector if it is paused or stopped."""
        if self.state().connector in ("PAUSED", "STOPPED"):
            self.resume()

    def restart_failed(self) -> None:
        """Restart the connector or task only if it has failed."""
        self._http.post(
            f"/connectors/{CONNECTOR}/restart",
            params={"includeTasks": "true", "onlyFailed": "true"},
        ).raise_for_status()


def client_of(variables: Mapping[str, str], *, timeout_s: float) -> ConnectClient:
    """Return a client for the Connect that a stack's `INVENTORY_*` variables name."""
    password = variables.get("INVENTORY_CONNECT_PASSWORD", "")
    return ConnectClient(variables["INVENTORY_CONNECT_URL"], password, timeout_s=timeout_s)


def slot_active(database_url: str, slot: str = SLOT) -> bool:
    """Return True if Postgres streams to the connector now."""
    statement = "SELECT active FROM pg_replication_slots WHERE slot_name = %s"
    with psycopg.connect(database_url, connect_timeout=5, autocommit=True) as connection:
        row = connection.execute(statement, (slot,)).fetchone()
    return bool(row and row[0])


def wait_streaming(
    client: ConnectClient, database_url: str, *, timeout_s: float = 90.0
) -> ConnectorState:
    """Return once connector and task run and the slot is active.

    A row that was committed earlier may reach the topic by a snapshot only.
    """
    return _until(
        client.state,
        lambda state: state.running and slot_active(database_url),
        timeout_s=timeout_s,
    )


def wait_captured(client: ConnectClient, database_url: str, *, timeout_s: float) -> ConnectorState:
    """Return once the connector streams and the log holds its snapshot of at least one row."""
    return _until(
        client.state,
        lambda state: state.running and slot_active(database_url) and client.snapshot_ended(),
        timeout_s=timeout_s,
    )


def _until(
    read_state: Callable[[], ConnectorState],
    accept: Callable[[ConnectorState], bool],
    *,
    timeout_s: float,
    failed_for_s: float = _FAILED_FOR_S,
) -> ConnectorState:
    """Poll until accepted.

    Give up early on a lasting failure: Connect never restarts a failed task.
    """
    began = alive_at = time.monotonic()
    while True:
        state, now = read_state(), time.monotonic()
        if accept(state):
            return state
        alive_at = alive_at if state.failed else now
        if now - began > timeout_s or now - alive_at > failed_for_s:
            message = (
                f"connector {CONNECTOR} is not streaming after {now - began:.0f} s: "
                f"connector {state.connector}, task {state.task}, slot {SLOT} not active\n"
                f"{state.trace[:2000]}"
            )
            raise CaptureError(message)
        time.sleep(_POLL_S)
