"""`inventory status`: every part asked now, with what did not answer said and not hidden."""

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from typing import Any, Final

import psycopg

from cdc.capture.client import client_of
from cdc.contracts.topics import APP_ID
from deploy import output
from deploy.stack.home import Home
from deploy.stack.lag import group_positions, lag_of, sink_positions
from deploy.stack.runtime import UP, Runtime, environment_of, read_runtime
from inventory.revision import LOGIC_REVISION

_US: Final = 1_000_000
_TIMEOUT_S: Final = 20.0
_OLDEST_BEAT: Final = "SELECT min(commit_us), count(*) FROM read_model.heartbeat"
_COUNTS: Final = """
SELECT (SELECT count(*) FROM read_model.rejected
        WHERE %(prefix)s::text IS NULL OR starts_with(encode(key, 'escape'), %(prefix)s)),
       (SELECT count(*) FROM read_model.late_sale
        WHERE %(prefix)s::text IS NULL OR starts_with(inv_key, %(prefix)s))
"""


def collect(home: Home, location: str | None = None) -> dict[str, Any]:
    """Everything `status --json` prints."""
    runtime = read_runtime(home)
    found: dict[str, Any] = {
        "phase": runtime.phase if runtime.running else "down",
        "home": str(home.path),
        "logic_revision": LOGIC_REVISION,
        "services": {name: asdict(entry) for name, entry in runtime.services.items()},
        "ports": runtime.ports,
        "urls": {name: entry.url for name, entry in runtime.services.items() if entry.url},
        "error": runtime.error,
        "repair": "" if runtime.running else runtime.repair or UP,
        "unanswered": {},
    }
    if not runtime.running:
        return found
    environment = environment_of(home)
    database, kafka = (
        environment["INVENTORY_READ_DATABASE_URL"],
        environment["INVENTORY_KAFKA_BOOTSTRAP"],
    )
    questions: dict[str, Callable[[], Any]] = {
        "connector": lambda: _connector(environment, runtime),
        "lag": lambda: _lags(kafka, database),
        "freshness_seconds": lambda: _freshness(database),
        "counts": lambda: _counts(database, location),
    }
    _ask(questions, found)
    found |= found.pop("counts") or {"rejected": None, "late": None}
    return found


def _ask(questions: dict[str, Callable[[], Any]], found: dict[str, Any]) -> None:
    with ThreadPoolExecutor(max_workers=len(questions)) as pool:
        answers = {name: pool.submit(question) for name, question in questions.items()}
        for name, answer in answers.items():
            try:
                found[name] = answer.result(timeout=_TIMEOUT_S)
            except Exception as error:  # noqa: BLE001 -- a part that is down is an answer here
                found[name] = None
                found["unanswered"][name] = f"{type(error).__name__}: {error}".strip()[:300]


def _connector(environment: Mapping[str, str], runtime: Runtime) -> dict[str, Any]:
    client = client_of(environment, timeout_s=5.0)
    try:
        state = client.state()
    finally:
        client.close()
    return {
        "connector": state.connector,
        "task": state.task,
        "restarts": runtime.connector_restarts,
    }


def _lags(kafka: str, database: str) -> dict[str, dict[str, float]]:
    readers = {APP_ID: group_positions(kafka)} | sink_positions(database)
    return {name: asdict(lag_of(kafka, positions)) for name, positions in readers.items()}


def _freshness(database: str) -> float | None:
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


def show(found: dict[str, Any]) -> None:
    """Print the report for a person."""
    rows = [
        (name, s["state"], s["pid"], s["restarts"], s["url"] or "")
        for name, s in found["services"].items()
    ]
    title = f"{found['phase']} · {found['home']} · logic revision {found['logic_revision']}"
    output.table(title, ("service", "state", "pid", "restarts", "address"), rows)
    if found.get("connector"):
        state = found["connector"]
        output.console.print(
            f"connector {state['connector']} · task {state['task']} · {state['restarts']} restarts"
        )
    for reader, lag in (found.get("lag") or {}).items():
        output.console.print(f"lag {reader}: {lag['records']} records, {lag['seconds']} s")
    if found["phase"] != "down":
        fresh = found["freshness_seconds"]
        output.console.print(f"freshness {'unknown' if fresh is None else f'{fresh} s'}")
        output.console.print(f"rejected {found['rejected']} · late {found['late']}")
    for name, reason in found["unanswered"].items():
        output.console.print(f"no answer about {name}: {reason}")
    if found["error"]:
        output.console.print(f"error: {found['error']}")
    if found["repair"]:
        output.console.print(f"repair: {found['repair']}")
