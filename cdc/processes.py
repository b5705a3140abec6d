"""The main loop of a process that works with one database until a signal ends it."""

import signal
import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

import psycopg
import structlog

RETRY_AFTER_S: Final = 1.0
# If the server is dead, a statement fails after 10 s instead of the minutes of TCP's default.
_OPTIONS: Final[Mapping[str, Any]] = {
    "connect_timeout": 5,
    "tcp_user_timeout": 10_000,
    "options": "-c statement_timeout=10000",
}

Connection = psycopg.Connection[tuple[Any, ...]]

log = structlog.get_logger(__name__)


def stop_event() -> threading.Event:
    """Return an event that SIGTERM and SIGINT set from now on."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    return stop


def work_in_database(
    url: str, name: str, work: Callable[[Connection], None], stop: threading.Event
) -> None:
    """Call `work` with a connection, and again with a new one after each lost connection.

    The connection is in autocommit mode, and `name` is its `application_name`. `work` should return
    once `stop` is set. After a `psycopg.OperationalError` in `work`, reconnect. Any other exception
    of `work` is raised.
    """
    while not stop.is_set():
        try:
            with psycopg.connect(
                url, autocommit=True, application_name=name, **_OPTIONS
            ) as connection:
                work(connection)
        except psycopg.OperationalError as problem:
            log.warning("database_lost", error=str(problem).strip())
            stop.wait(RETRY_AFTER_S)
