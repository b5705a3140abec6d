"""Probes of the stages from Postgres to the pages, each with its own time limit.

If a stage doesn't answer, the page System shows it as down, with its error.
"""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any, Final

import httpx
from confluent_kafka import KafkaException
from django.conf import settings
from django.db import DatabaseError, connection

from cdc.capture.client import ACCOUNT, CONNECTOR
from cdc.contracts.topics import APP_ID, ON_HAND_CHANGELOG, STOCK_EVENTS
from ledger.kernel.rows import select, select_one, select_value
from ledger.messages import Message, gettext_noop
from ledger.nouns import counted
from webui.desks.system.last_errors import LastError, error_of
from webui.desks.system.offsets import (
    PROBE_S,
    admin,
    ends,
    group_lag,
    none_without_broker,
    projector_lag,
)
from webui.desks.system.slot import SLOT, slot
from webui.live.stream import HUB
from webui.readmodel.figures import age_text, bytes_text, units_text
from webui.readmodel.live_key import partition_map, worker_urls

OK, SLOW, DOWN = "ok", "slow", "down"
FRESH_US: Final = 3_000_000
OFFLINE_US: Final = 60_000_000
LAG_MOST: Final = 1_000
BY_RULE_US: Final = 15_000_000
_NO_BROKER: Final = gettext_noop("the broker does not answer")
_UNKNOWN_LAG: Final = gettext_noop("unknown: the broker does not answer")


@dataclass(frozen=True, slots=True)
class Link:
    """One stage from Postgres to the pages: state, age, lag, details and the last recorded error.

    `probed` is False if the probe got no answer; then all figures are unknown. `advice_of` names
    another stage whose repair applies here, or is empty.
    """

    name: str
    state: str
    summary: str
    age_us: int | None = None
    lag: str = ""
    details: list[tuple[str, str]] = field(default_factory=list)
    probed: bool = True
    error: LastError | None = None
    advice_of: str = ""


@dataclass(frozen=True, slots=True)
class _Service:
    service: str
    pid: int
    age_us: int


@dataclass(frozen=True, slots=True)
class _CaptureReport:
    detail: dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Automation:
    pid: int
    detail: dict[str, int]
    age_us: int


def with_errors(links: Sequence[Link], errors: Sequence[LastError]) -> list[Link]:
    """Return the stages, each with the newest error of its services; `errors` are newest first."""
    return [replace(link, error=error_of(link.name, errors)) for link in links]


def chain() -> list[Link]:
    """Return all stages in order, probed at the same time."""
    # Each probe has a thread. So a slow probe, for example of Kafka, delays no other probe.
    with ThreadPoolExecutor(max_workers=len(_PROBES), thread_name_prefix="probe") as pool:
        asked = [(name, pool.submit(_closing(probe))) for name, probe in _PROBES]
        return [_answer(name, future) for name, future in asked]


def _closing(probe: Callable[[], Link]) -> Callable[[], Link]:
    """Return a function that executes the probe and closes its thread's database connection."""

    def run() -> Link:
        try:
            return probe()
        finally:
            connection.close()

    return run


def _answer(name: str, future: "Future[Link]") -> Link:
    try:
        return future.result(timeout=PROBE_S * 2)
    except Exception as failure:  # noqa: BLE001 -- the page shows every error of a probe
        return Link(name, DOWN, _failure_text(failure), probed=False)


def _failure_text(failure: Exception) -> str:
    """Return the text for a stage whose probe has failed.

    Texts of database errors are left out, because they name addresses and accounts.
    """
    if isinstance(failure, KafkaException):
        return Message(
            "%(what)s (%(error)s)", what=Message(_NO_BROKER), error=failure.args[0].str()[:200]
        )
    if isinstance(failure, DatabaseError):
        return gettext_noop("the database does not answer")
    return Message("no answer (%(error)s)", error=type(failure).__name__)


def state_of_age(age_us: int | None) -> str:
    """Return the state for an age of data: OK up to 3 s, SLOW up to 60 s, else DOWN.

    None, an unknown age, also gives DOWN.
    """
    if age_us is None or age_us > OFFLINE_US:
        return DOWN
    return OK if age_us <= FRESH_US else SLOW


def postgres() -> Link:
    """Return the stage of Postgres: the newest heartbeat and Debezium's replication slot."""
    beat_us = select_value(
        "SELECT (extract(epoch FROM clock_timestamp() - max(recorded_at)) * 1000000)::bigint"
        " FROM retail.pipeline_heartbeat"
    )
    found = slot()
    if found is None:
        return Link(
            "Postgres",
            DOWN,
            Message("the replication slot %(slot)s does not exist", slot=SLOT),
            beat_us,
        )
    state = state_of_age(beat_us) if found.active else DOWN
    summary = (
        gettext_noop("a heartbeat each second")
        if state == OK
        else gettext_noop("heartbeats are late")
    )
    return Link(
        "Postgres",
        state,
        summary if found.active else gettext_noop("no connector reads the slot"),
        beat_us,
        Message("%(bytes)s of WAL", bytes=bytes_text(found.unconfirmed_bytes)),
        [
            (gettext_noop("slot"), found.slot_name),
            (gettext_noop("WAL"), found.wal_status or gettext_noop("unknown")),
        ],
        advice_of="" if found.active else "Debezium",
    )


def debezium() -> Link:
    """Return the stage of Debezium: the connector and its task, as Connect reports them."""
    url = str(settings.CONNECTIONS.connect_url).rstrip("/")
    account = (ACCOUNT, settings.CONNECTIONS.connect_password.get_secret_value())
    path = f"{url}/connectors/{CONNECTOR}/status"
    answer = httpx.get(path, timeout=PROBE_S, auth=account, trust_env=False)
    if answer.status_code == httpx.codes.NOT_FOUND:
        return Link("Debezium", DOWN, gettext_noop("no connector is registered"))
    body = answer.json()
    connector = body["connector"]["state"]
    tasks = [task["state"] for task in body.get("tasks", [])]
    running = connector == "RUNNING" and tasks == ["RUNNING"]
    errors = [task["trace"].splitlines()[0] for task in body.get("tasks", []) if task.get("trace")]
    problem, details = capture_report()
    return Link(
        "Debezium",
        OK if running and not problem else DOWN,
        problem
        or (
            errors[0][:200]
            if errors
            else Message("connector %(state)s", state=Message(connector.lower()))
        ),
        details=[
            (gettext_noop("task"), ", ".join(tasks).lower() or gettext_noop("none")),
            *details,
        ],
    )


def capture_report() -> tuple[str, list[tuple[str, str]]]:
    """Return (problem of the service `capture`, its details as pairs of name and text).

    The problem is an empty text if there is none. If a person has paused the capture, the text says
    so and names this person. The only detail is the number of repairs. Before the service's first
    report, the text and the list of details are empty.
    """
    found = select_one(
        "SELECT detail FROM read_model.service_heartbeat WHERE service = 'capture'",
        {},
        _CaptureReport,
    )
    if found is None:
        return "", []
    by, problem = found.detail.get("paused_by"), found.detail.get("problem")
    said = Message("paused by %(person)s", person=by) if by else str(problem or "")
    return said, [
        (gettext_noop("repairs"), units_text(int(found.detail.get(gettext_noop("repairs"), 0))))
    ]


def kafka() -> Link:
    """Return the stage of Kafka: the brokers and the number of records in the source log."""
    client = admin()
    cluster = client.list_topics(timeout=PROBE_S)
    found = ends(client, STOCK_EVENTS)
    return Link(
        "Kafka",
        OK,
        Message(
            "%(records)s in %(topic)s",
            records=counted(sum(found.values()), "record"),
            topic=STOCK_EVENTS,
        ),
        details=[
            (gettext_noop("brokers"), str(len(cluster.brokers))),
            (gettext_noop("partitions"), str(len(found))),
        ],
    )


def workers() -> Link:
    """Return the stage of the workers: lag of the consumer group, and state of each worker."""
    lag = none_without_broker(group_lag)
    held = partition_map().rows
    as_of = [row["as_of_us"] for row in held if row.get("as_of_us") is not None]
    age_us = max(0, time.time_ns() // 1000 - min(as_of)) if as_of else None
    waited = max((row.get("lag_seconds", 0.0) for row in held), default=0.0)
    details = [(name, _worker_state(url)) for name, url in worker_urls().items()]
    restoring = [text for _, text in details if text != "ready"]
    state = DOWN if lag is None or (restoring and len(restoring) == len(details)) else OK
    if lag is None:
        return Link("Workers", state, _NO_BROKER, age_us, _UNKNOWN_LAG, details)
    if state == OK and (restoring or lag > LAG_MOST):
        state = SLOW
    text = Message(
        "%(records)s, %(seconds)s s", records=counted(lag, "record"), seconds=f"{waited:.1f}"
    )
    return Link("Workers", state, Message("group %(group)s", group=APP_ID), age_us, text, details)


def _worker_state(url: str) -> str:
    try:
        answer = httpx.get(f"{url}/readyz", timeout=PROBE_S / 3, trust_env=False)
    except (httpx.HTTPError, httpx.InvalidURL) as failure:  # a setting may have an invalid URL
        return Message("no answer (%(error)s)", error=type(failure).__name__)
    return (
        gettext_noop("ready") if answer.status_code == httpx.codes.OK else gettext_noop("restoring")
    )


def read_model() -> Link:
    """Return the stage of the read model: the projector's lag and the age of the oldest data."""
    age_us = select_value(
        """SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - min(as_of_us)
           FROM read_model.sink_position WHERE sink = 'projector' AND topic = %(topic)s""",
        {"topic": ON_HAND_CHANGELOG},
    )
    services = select(
        """SELECT service, pid,
                  (extract(epoch FROM clock_timestamp() - at) * 1000000)::bigint AS age_us
           FROM read_model.service_heartbeat ORDER BY service""",
        {},
        _Service,
    )
    details: list[tuple[str, str]] = [
        (s.service, Message("%(age)s ago", age=age_text(s.age_us))) for s in services
    ]
    summary = (
        gettext_noop("the service “projector” has written nothing yet")
        if age_us is None
        else gettext_noop("rows and positions")
    )
    text = none_without_broker(_projector_lag_text)
    text = _UNKNOWN_LAG if text is None else text
    return Link("Read model", state_of_age(age_us), summary, age_us, text, details)


def _projector_lag_text() -> str:
    lag = projector_lag()
    return "" if lag is None else counted(lag, "record")


def automation() -> Link:
    """Return the stage of the automation, the process that approves needs and prices by rule.

    It shows the age of the process's last report, and how much each job changed when it last ran.
    """
    found = select_one(
        """SELECT pid, detail,
                  (extract(epoch FROM clock_timestamp() - at) * 1000000)::bigint AS age_us
           FROM read_model.service_heartbeat WHERE service = 'automation'""",
        {},
        _Automation,
    )
    if found is None:
        return Link("By rule", DOWN, gettext_noop("the automation has never run"))
    details: list[tuple[str, str]] = [
        (name, Message("%(number)s changed", number=units_text(changed)))
        for name, changed in found.detail.items()
    ]
    # The automation reports at the beginning of each round. The jobs of a round can take seconds,
    # so the next report may come up to 15 s later.
    state = OK if found.age_us <= BY_RULE_US else state_of_age(found.age_us)
    return Link(
        "By rule",
        state,
        gettext_noop("approvals, prices, tasks, scorecard"),
        found.age_us,
        "",
        details,
    )


def screen() -> Link:
    """Return the stage *Screen*: the live feed of this web process."""
    as_of_us = HUB.feed_as_of_us()
    age_us = None if as_of_us is None else max(0, time.time_ns() // 1000 - as_of_us)
    connected = HUB.connected
    return Link(
        "Screen",
        state_of_age(age_us) if connected else DOWN,
        gettext_noop("live feed follows the changelog")
        if connected
        else gettext_noop("live feed is not connected"),
        age_us,
        details=[
            (gettext_noop("open pages"), str(HUB.streams)),
            (gettext_noop("changes seen"), units_text(HUB.records)),
        ],
    )


_PROBES: Final[tuple[tuple[str, Callable[[], Link]], ...]] = (
    (gettext_noop("Postgres"), postgres),
    (gettext_noop("Debezium"), debezium),
    (gettext_noop("Kafka"), kafka),
    (gettext_noop("Workers"), workers),
    (gettext_noop("Read model"), read_model),
    (gettext_noop("Screen"), screen),
    (gettext_noop("By rule"), automation),
)
