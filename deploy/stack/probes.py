"""One probe per kind of service, for the supervisor, `status`, `doctor` and the container guard.

A probe queries the service by its own protocol and takes a few seconds at most. It returns True,
False, or None if the part that it goes through is down. Example: a sink's heartbeat is a row in
Postgres, so without Postgres the state of the sink is unknown.

`ready` means that the service does its work. `alive` means that its process answers, even with an
error. Only `alive` decides about restarts: a restart would delay a service that restores its state
or waits.
"""

import ssl
from dataclasses import dataclass
from functools import cache, partial
from http import HTTPStatus
from typing import Final

import httpx
import psycopg

from cdc.capture.admin import broker_answers
from cdc.capture.client import ConnectClient
from deploy.stack.context import WORKER_PREFIX
from deploy.stack.service import ProbeResult, ServiceProbe

_HTTP_S: Final = 2.0
_CONNECT_S: Final = 2
_ENDS: Final = "the database system is shutting down"  # the stack's server has English messages
# Heartbeat row that this process wrote: a row of its predecessor has another pid.
_BEAT: Final = """
SELECT extract(epoch FROM clock_timestamp() - at)::float
FROM read_model.service_heartbeat WHERE service = %s AND pid = %s
"""
# Seconds without a heartbeat after which a process counts as silent. The automation's longest job
# may take a minute. So may the registration of a connector at a slow Connect. All other services
# write a row at least every five seconds, or every ten while the broker is silent.
_BEAT_WITHIN_S: Final = {"automation": 90.0, "capture": 90.0}
_BEAT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Probes:
    """The `ready` and `alive` probes of one service; each takes the pid of its process."""

    ready: ServiceProbe
    alive: ServiceProbe


def probes_of(name: str, url: str | None, database_url: str, connect_password: str = "") -> Probes:
    """Return the probes of the service `name`; `url` is its address, if it has one.

    An empty `database_url` means that Postgres is known to be down.
    """
    if name == "postgres":
        return Probes(
            lambda _: postgres_ready(database_url), lambda _: postgres_alive(database_url)
        )
    if name == "kafka":
        return _both(lambda _: broker_answers(url or ""))
    if name == "connect":
        return Probes(
            lambda _: connect_ready(url or "", connect_password), lambda _: http_alive(url or "")
        )
    if name == "web":  # no query without Postgres: the pages can't be ready
        return Probes(
            lambda _: bool(database_url) and http_ok(f"{url}/readyz"),
            lambda _: http_ok(f"{url}/livez"),
        )
    if name.startswith(WORKER_PREFIX):
        return Probes(lambda _: http_ok(f"{url}/readyz"), lambda _: http_ok(f"{url}/livez"))
    if name == "trading":  # it writes only facts and no heartbeat, so nothing can be probed
        return _both(lambda _: True)
    return _both(partial(has_fresh_heartbeat, database_url, name))


def _both(probe: ServiceProbe) -> Probes:
    """Return `probe` as `ready` and as `alive`. A caller then runs it once for both."""
    return Probes(probe, probe)


def http_ok(url: str) -> bool:
    """Return True if `url` answers 200."""
    return _status(url) == HTTPStatus.OK


def http_alive(url: str) -> bool:
    """Return True if `url` answers, even with an error status."""
    return _status(url) is not None


def _status(url: str) -> int | None:
    """Return the status of the answer to a GET, or None without an answer."""
    try:
        answer = httpx.get(url, timeout=_HTTP_S, verify=_certificates(), trust_env=False)
    except httpx.HTTPError:
        return None
    return answer.status_code


@cache
def _certificates() -> ssl.SSLContext:
    """Return the certificates to accept, loaded once.

    By default httpx loads them for each request. That takes 20 ms of CPU time, and the supervisor
    probes every service every 5 s.
    """
    return ssl.create_default_context()


def connect_ready(url: str, password: str) -> bool:
    """Return True if Connect answers `GET /health` with 200."""
    client = ConnectClient(url, password, timeout_s=_HTTP_S)
    try:
        return client.healthy()
    finally:
        client.close()


def postgres_ready(url: str) -> bool:
    """Return True if Postgres answers a query."""
    try:
        with psycopg.connect(url, connect_timeout=_CONNECT_S, autocommit=True) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def postgres_alive(url: str) -> bool:
    """Return True if Postgres answers, even if it refuses because it starts or its disk is full.

    Return False if it is shutting down. After SIGTERM it refuses new clients and waits without a
    limit for the connected ones. Only a restart ends that wait.
    """
    try:
        with psycopg.connect(url, connect_timeout=_CONNECT_S, autocommit=True):
            return True
    except psycopg.OperationalError as error:
        return "FATAL:" in str(error) and _ENDS not in str(error)


def has_fresh_heartbeat(database_url: str, service: str, pid: int) -> ProbeResult:
    """Return True if process `pid` wrote its heartbeat row recently; None without Postgres.

    An empty `database_url` means that Postgres is known to be down.
    """
    if not database_url:
        return None
    try:
        with psycopg.connect(
            database_url, connect_timeout=_CONNECT_S, autocommit=True
        ) as connection:
            row = connection.execute(_BEAT, (service, pid)).fetchone()
    except psycopg.Error:
        return None
    return row is not None and float(row[0]) < _BEAT_WITHIN_S.get(service, _BEAT_S)
