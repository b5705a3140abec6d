"""One probe per kind of service, for the supervisor, `status`, `doctor` and the container guard.

A probe asks now, by the service's own protocol, and never longer than a few seconds. It returns
True or False, or None if the part through which it asks is away: a sink's sign of life is a row in
Postgres, so a dead Postgres says nothing about the sink.

`ready` means that the service does its work. `alive` means that its process answers at all: a
restart cures a process that doesn't answer, and would only delay one that restores its state or
waits for another part.
"""

from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Final

import httpx
import psycopg

from cdc.capture.admin import broker_answers
from cdc.capture.client import ConnectClient
from deploy.stack.service import Answer, Ask

WORKER: Final = "worker-"

_HTTP_S: Final = 2.0
_CONNECT_S: Final = 2
_ENDS: Final = "the database system is shutting down"  # the stack's server speaks English
# A row of this process, written by it: a row of its predecessor has another pid.
_BEAT: Final = """
SELECT extract(epoch FROM clock_timestamp() - at)::float
FROM read_model.service_heartbeat WHERE service = %s AND pid = %s
"""
# Seconds without a sign of life after which a process counts as silent. The automation's longest
# job may take a minute, and so may the registration of a connector at a slow Connect; the others
# write a row every five seconds or more often.
_BEAT_WITHIN_S: Final = {"automation": 90.0, "capture": 90.0}
_BEAT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Probes:
    """Both questions to one service; each takes the pid of its process."""

    ready: Ask
    alive: Ask


def probes_of(name: str, url: str | None, database_url: str, connect_password: str = "") -> Probes:
    """Return the probes of the service `name`; `url` is its address, if it has one."""
    if name == "postgres":
        return Probes(
            lambda _: postgres_ready(database_url), lambda _: postgres_alive(database_url)
        )
    if name == "kafka":
        broker = partial(broker_answers, url or "")
        return Probes(lambda _: broker(), lambda _: broker())
    if name == "connect":
        return Probes(
            lambda _: connect_ready(url or "", connect_password), lambda _: http_alive(url or "")
        )
    if name == "web" or name.startswith(WORKER):
        return Probes(lambda _: http_ok(f"{url}/readyz"), lambda _: http_ok(f"{url}/livez"))
    if name == "trading":  # it writes facts only, and leaves no row of its own
        return Probes(lambda _: True, lambda _: True)
    beating = partial(beats, database_url, name)
    return Probes(beating, beating)


def http_ok(url: str) -> bool:
    """Return whether `url` answers 200."""
    try:
        return httpx.get(url, timeout=_HTTP_S).status_code == HTTPStatus.OK
    except httpx.HTTPError:
        return False


def http_alive(url: str) -> bool:
    """Return whether anything is answered at `url`, an error included."""
    try:
        httpx.get(url, timeout=_HTTP_S)
    except httpx.HTTPError:
        return False
    return True


def connect_ready(url: str, password: str) -> bool:
    """Return whether Connect answers `GET /health` with 200."""
    client = ConnectClient(url, password, timeout_s=_HTTP_S)
    try:
        return client.healthy()
    finally:
        client.close()


def postgres_ready(url: str) -> bool:
    """Return whether Postgres answers a query."""
    try:
        with psycopg.connect(url, connect_timeout=_CONNECT_S, autocommit=True) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def postgres_alive(url: str) -> bool:
    """Return whether a Postgres answers, also by a refusal: it is starting, or its disk is full.

    After SIGTERM it refuses every client and waits for its clients without a limit: only a restart
    ends that.
    """
    try:
        with psycopg.connect(url, connect_timeout=_CONNECT_S, autocommit=True):
            return True
    except psycopg.OperationalError as error:
        return "FATAL:" in str(error) and _ENDS not in str(error)


def beats(database_url: str, service: str, pid: int) -> Answer:
    """Return whether process `pid` wrote its row of life lately; None without Postgres."""
    try:
        with psycopg.connect(
            database_url, connect_timeout=_CONNECT_S, autocommit=True
        ) as connection:
            row = connection.execute(_BEAT, (service, pid)).fetchone()
    except psycopg.Error:
        return None
    return row is not None and float(row[0]) < _BEAT_WITHIN_S.get(service, _BEAT_S)
