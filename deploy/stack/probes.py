"""Probes of each kind of service, for the supervisor, `status`, `doctor` and the container guard.

A probe queries the service by the service's own protocol, in a few seconds at most. It returns True
or False. It returns None if the state is unknown, because another part is down. Example: a sink's
heartbeat is a row in Postgres, so a probe of the sink needs Postgres.

`ready` means that the service does its work. `alive` means that its process answers, even with an
error. Only `alive` decides about restarts, because a restart would only delay a service that
restores its state or waits.
"""

import ssl
import threading
import time
from collections.abc import Mapping
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
# Postgres' message while it stops. The stack's Postgres writes messages in English.
_ENDS: Final = "the database system is shutting down"
_BEATS: Final = """
SELECT service, pid, extract(epoch FROM clock_timestamp() - at)::float
FROM read_model.service_heartbeat
"""
# Seconds for which probes reuse the result of one query. The supervisor probes about ten services
# at the same moment.
_SHARED_S: Final = 0.1
# Largest age in seconds of the heartbeat row of a healthy service. A job of `automation` may take a
# minute. So may a request of `capture` to a slow Connect. All other services write a row at least
# every 5 s, or every 10 s while the broker doesn't answer.
_BEAT_WITHIN_S: Final = {"automation": 90.0, "capture": 90.0}
_BEAT_S: Final = 15.0


@dataclass(frozen=True, slots=True)
class Probes:
    """The probes `ready` and `alive` of one service. Each takes the pid of its process."""

    ready: ServiceProbe
    alive: ServiceProbe


def probes_of(name: str, url: str | None, database_url: str, connect_password: str = "") -> Probes:
    """Return the probes of the service `name`. `url` is its address, if it has one.

    An empty `database_url` means that Postgres is known to be down. `connect_password` is for the
    REST API of Connect.
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
    if name == "web":  # without Postgres the pages can't be ready, so send no request
        return Probes(
            lambda _: bool(database_url) and http_ok(f"{url}/readyz"),
            lambda _: http_ok(f"{url}/livez"),
        )
    if name.startswith(WORKER_PREFIX):
        return Probes(lambda _: http_ok(f"{url}/readyz"), lambda _: http_ok(f"{url}/livez"))
    if name == "trading":  # it writes no heartbeat, so nothing can be probed
        return _both(lambda _: True)
    return _both(partial(has_fresh_heartbeat, database_url, name))


def _both(probe: ServiceProbe) -> Probes:
    """Return `probe` as `ready` and as `alive`. A caller can then run it once for both."""
    return Probes(probe, probe)


def http_ok(url: str) -> bool:
    """Return True if a GET of `url` is answered with status 200."""
    return _status(url) == HTTPStatus.OK


def http_alive(url: str) -> bool:
    """Return True if a GET of `url` is answered, even with an error status."""
    return _status(url) is not None


def _status(url: str) -> int | None:
    """Return the status of the answer to a GET of `url`, or None without an answer."""
    try:
        answer = httpx.get(url, timeout=_HTTP_S, verify=_certificates(), trust_env=False)
    except httpx.HTTPError:
        return None
    return answer.status_code


@cache
def _certificates() -> ssl.SSLContext:
    """Return the accepted certificate authorities, loaded once per process.

    By default, httpx loads them for each request, which takes 20 ms of CPU time. The supervisor
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

    Return False if Postgres is shutting down. After SIGTERM it refuses new clients, and waits for
    the connected ones without a limit. Only a restart ends that wait.
    """
    try:
        with psycopg.connect(url, connect_timeout=_CONNECT_S, autocommit=True):
            return True
    except psycopg.OperationalError as error:
        return "FATAL:" in str(error) and _ENDS not in str(error)


def has_fresh_heartbeat(database_url: str, service: str, pid: int) -> ProbeResult:
    """Return True if the process `pid` wrote its heartbeat row recently.

    Return None if Postgres can't be queried. An empty `database_url` means that Postgres is known
    to be down.
    """
    ages = _heartbeats(database_url).ages_s() if database_url else None
    if ages is None:
        return None
    # The row of an earlier process has another pid.
    age_s = ages.get((service, pid))
    return age_s is not None and age_s < _BEAT_WITHIN_S.get(service, _BEAT_S)


class _HeartbeatCache:
    """The heartbeat rows of the database at `url`, shared by the threads of all probes."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._read_at: float | None = None
        self._ages_s: Mapping[tuple[str, int], float] | None = None

    def ages_s(self) -> Mapping[tuple[str, int], float] | None:
        """Return the age in seconds of each process's row, or None if Postgres can't be queried.

        The keys are pairs of service name and pid. The result is up to `_SHARED_S` seconds old.
        """
        with self._lock:
            if self._read_at is None or time.monotonic() - self._read_at > _SHARED_S:
                self._ages_s = self._read()
                self._read_at = time.monotonic()
            return self._ages_s

    def _read(self) -> dict[tuple[str, int], float] | None:
        try:
            with psycopg.connect(
                self._url, connect_timeout=_CONNECT_S, autocommit=True
            ) as connection:
                rows = connection.execute(_BEATS).fetchall()
        except psycopg.Error:
            return None
        return {(service, pid): float(age_s) for service, pid, age_s in rows}


@cache
def _heartbeats(url: str) -> _HeartbeatCache:
    return _HeartbeatCache(url)
