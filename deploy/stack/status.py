"""Data of `inventory status`: answers of the stack's parts, and the queries without an answer."""

import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Final, NoReturn

import psycopg

from cdc.capture.client import client_of
from cdc.contracts.topics import APP_ID
from deploy.errors import StackError
from deploy.stack import observe
from deploy.stack.context import INFRASTRUCTURE
from deploy.stack.home import Home
from deploy.stack.lag import group_positions, lag_of, sink_positions
from deploy.stack.observe import StackState
from deploy.stack.runtime import UP, environment_of
from inventory.revision import LOGIC_REVISION

_US: Final = 1_000_000
_TIMEOUT_S: Final = 20.0
_CONNECT_S: Final = 3.0
# Parts in these states get no query, because it could wait long. Example: Connect without a broker
# doesn't answer.
_DOWN: Final = (
    *(observe.GONE, observe.SUSPENDED, observe.SILENT, observe.NOT_READY),
    *("restarting", "stopped"),
)
_OLDEST_BEAT: Final = "SELECT min(commit_us), count(*) FROM read_model.heartbeat"
_RECONCILER_REPORT: Final = (
    "SELECT detail FROM read_model.service_heartbeat WHERE service = 'capture'"
)
_COUNTS: Final = """
SELECT (SELECT count(*) FROM read_model.rejected
        WHERE %(prefix)s::text IS NULL OR starts_with(encode(key, 'escape'), %(prefix)s)),
       (SELECT count(*) FROM read_model.late_sale
        WHERE %(prefix)s::text IS NULL OR starts_with(inv_key, %(prefix)s))
"""


def collect(home: Home, seen: StackState, location: str | None = None) -> dict[str, Any]:
    """Return the document that `status --json` prints, from `seen` and further queries.

    If `location` is given, rejected records and late sales are counted for this location only.
    """
    runtime = seen.runtime
    found: dict[str, Any] = {
        "phase": runtime.phase if runtime.running else "down",
        "home": str(home.path),
        "logic_revision": LOGIC_REVISION,
        "supervisor": seen.supervisor,
        "runtime_file": {"age_seconds": seen.file_age_s, "write_error": runtime.write_error},
        "services": {
            name: asdict(entry) | {"state": seen.states[name], "recorded": entry.state}
            for name, entry in runtime.services.items()
        },
        "ports": runtime.ports,
        "urls": {name: entry.url for name, entry in runtime.services.items() if entry.url},
        "error": runtime.error,
        "repair": "" if runtime.running else runtime.repair or UP,
        "unanswered": {},
    }
    with contextlib.suppress(StackError):  # the stack has just ended, or never ran
        _run_queries(_queries(home, seen, location), found)
    found |= found.pop("counts", None) or {"rejected": None, "late": None}
    found["not_well"] = _not_well(found, seen)
    return found


def _queries(home: Home, seen: StackState, location: str | None) -> dict[str, Callable[[], Any]]:
    """Return a map from name to query, a function without arguments.

    If Postgres, the broker or Connect is known to be down, queries that need it raise `NotQueried`.
    The map lacks queries about parts that the stack doesn't have.
    """
    environment = environment_of(home)
    kafka, database = (
        environment["INVENTORY_KAFKA_BOOTSTRAP"],
        environment["INVENTORY_READ_DATABASE_URL"],
    )
    kept = "" if seen.states.get("postgres") in _DOWN else database
    asked: dict[str, tuple[tuple[str, ...], Callable[[], Any]]] = {
        "connector": (("connect", "kafka"), lambda: _connector(environment, kept)),
        "lag": (("kafka", "postgres"), lambda: lags(kafka, database)),
        "freshness_seconds": (("postgres", "projector"), lambda: freshness(database)),
        "counts": (("postgres", "projector"), lambda: _counts(database, location)),
    }

    def question(parts: tuple[str, ...], work: Callable[[], Any]) -> Callable[[], Any]:
        down = next((p for p in parts if p in INFRASTRUCTURE and seen.states[p] in _DOWN), "")
        return (lambda: _refuse(down, seen.states[down])) if down else work

    return {
        name: question(parts, work)
        for name, (parts, work) in asked.items()
        if seen.states.keys() >= set(parts)
    }


def _refuse(part: str, state: str) -> NoReturn:
    message = f"{part} is in state {state!r}"
    raise NotQueried(message)


class NotQueried(Exception):
    """No query was sent, because a part that it needs is known to be down."""


def _not_well(found: dict[str, Any], seen: StackState) -> list[str]:
    """Return one text for each part that isn't in its expected state."""
    sentences = [] if found["phase"] == "ready" else [f"phase is {found['phase']}"]
    if found["phase"] == "down":
        return sentences
    if seen.supervisor != observe.RUNNING:
        sentences.append(f"supervisor is {seen.supervisor}")
    if seen.file_age_s > observe.OLD_FILE_S:
        sentences.append(f"runtime.json is {seen.file_age_s:.0f} s old")
    sentences += [f"{name}: {seen.states[name]}" for name in seen.not_ready]
    state = found.get("connector")
    if state and {state["connector"], state["task"]} != {"RUNNING"}:
        sentences.append(f"connector {state['connector']}, task {state['task']}")
    sentences += [f"capture: {state['problem']}"] if state and state["problem"] else []
    return sentences + [f"no answer about {name}" for name in found["unanswered"]]


def _run_queries(queries: dict[str, Callable[[], Any]], found: dict[str, Any]) -> None:
    with ThreadPoolExecutor(max_workers=len(queries) or 1) as pool:
        answers = {name: pool.submit(question) for name, question in queries.items()}
        for name, answer in answers.items():
            try:
                found[name] = answer.result(timeout=_TIMEOUT_S)
            except Exception as error:  # noqa: BLE001 -- status also reports parts that are down
                found[name] = None
                name_of = "" if isinstance(error, NotQueried) else f"{type(error).__name__}: "
                found["unanswered"][name] = f"{name_of}{error}".strip()[:300]


def _connector(environment: Mapping[str, str], database: str) -> dict[str, Any]:
    client = client_of(environment, timeout_s=_CONNECT_S)
    try:
        state = client.state()
    finally:
        client.close()
    return {
        "connector": state.connector,
        "task": state.task,
        **_reconciler_report(database),
    }


def _reconciler_report(database: str) -> dict[str, Any]:
    """Return four fields of the last report of the process `capture`.

    The fields are `repairs`, `repaired`, `problem` and `paused_by`. While Postgres is down,
    `repairs` is 0 and the others are "". `database` is the URL of Postgres, or "" if Postgres is
    known to be down.
    """
    detail: dict[str, Any] = {}
    with contextlib.suppress(psycopg.OperationalError):
        detail = _reconciled(database) if database else {}
    found = {name: detail.get(name, "") for name in ("repaired", "problem", "paused_by")}
    return {"repairs": detail.get("repairs", 0), **found}


def _reconciled(database: str) -> dict[str, Any]:
    with psycopg.connect(database, connect_timeout=3, autocommit=True) as connection:
        row = connection.execute(_RECONCILER_REPORT).fetchone()
    return row[0] if row else {}


def lags(kafka: str, database: str) -> dict[str, dict[str, float]]:
    """Return a map from reader to its lag: `records`, and `seconds`.

    The readers are the workers' group and the sinks.
    """
    readers = {APP_ID: group_positions(kafka)} | sink_positions(database)
    return {name: asdict(lag_of(kafka, positions)) for name, positions in readers.items()}


def freshness(database: str) -> float | None:
    """Return the age in seconds of the oldest heartbeat in the read model, None if it has none."""
    with psycopg.connect(database, connect_timeout=3, autocommit=True) as connection:
        row = connection.execute(_OLDEST_BEAT).fetchone()
    if row is None or row[0] is None:
        return None
    return round(time.time() - int(row[0]) / _US, 3)


def _counts(database: str, location: str | None) -> dict[str, int]:
    prefix = None if location is None else f"{location}|"
    with psycopg.connect(database, connect_timeout=3, autocommit=True) as connection:
        row = connection.execute(_COUNTS, {"prefix": prefix}).fetchone()
    assert row is not None  # noqa: S101 -- a SELECT of two counts gives one row
    return {"rejected": row[0], "late": row[1]}
