"""Registration of the connector at a start, and the commands that pause and repair capture."""

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

import httpx
import psycopg

from cdc.capture.client import (
    PUBLICATION,
    SLOT,
    CaptureError,
    ConnectClient,
    client_of,
    wait_streaming,
)
from cdc.capture.reconciler import config_of
from cdc.capture.source import (
    Damage,
    create_publication,
    damage_of,
    paused_by,
    request_pause,
    store_publication,
)
from deploy.errors import StackError
from deploy.stack.home import Home
from deploy.stack.runtime import UP, environment_of

CAPTURE_AGAIN: Final = "inventory down && inventory generation --yes && inventory up --detach"
RESUME: Final = "inventory capture resume"
RESTART: Final = "inventory restart connect"
# Part of Debezium 3.7's error if Postgres no longer has the WAL from the connector's offset on.
_TOO_OLD: Final = "is no longer available on the server"
_REASON_CHARS: Final = 300
_STREAMS_WITHIN_S: Final = 60.0
_NAMES: Final = {"publication": PUBLICATION, "replica identity": "of tables", "slot": SLOT}


def repair_of(report: Mapping[str, Any]) -> str:
    """Return the command that repairs the problem in `report`, which process `capture` wrote."""
    return CAPTURE_AGAIN if str(report["problem"]).startswith(tuple(_NAMES)) else RESTART


def explain(damage: Damage) -> str:
    """Return a message about the damage, and about the data that Postgres still has."""
    return (
        f"{damage.part} {_NAMES[damage.part]} {damage.found}. So the topics lack committed "
        "changes. Postgres has kept all rows, and a new generation captures them"
    )


def refuse_damaged(database_url: str) -> None:
    """Raise `StackError` if the log lacks changes because publication or slot is damaged."""
    with psycopg.connect(database_url, connect_timeout=5, autocommit=True) as connection:
        damage = damage_of(connection)
    if damage:
        raise StackError(explain(damage), repair=CAPTURE_AGAIN)


def publish_tables(owner_url: str) -> None:
    """Create the publication of the captured tables, or replace it if its definition differs.

    Call this only before a capture.
    """
    with psycopg.connect(owner_url, connect_timeout=5, autocommit=True) as connection:
        create_publication(connection)


def capture(
    client: ConnectClient, database_url: str, wait: Callable[[ConnectClient, str], object]
) -> None:
    """Register the connector, wait until it streams, and record the publication that it reads.

    `wait` returns when the connector streams or, in a new generation, when the log has every row.
    If a person has paused capture, return at once: capture stays paused.

    Raises:
        StackError: the connector does not stream. The message has the cause without Java's trace.
    """
    if _paused(database_url):
        return
    try:
        client.register(config_of(database_url))
        client.resume_if_paused()
        wait(client, database_url)
    except CaptureError as error:
        raise refusal(str(error)) from error
    with psycopg.connect(database_url, connect_timeout=5, autocommit=True) as connection:
        store_publication(connection)


def refusal(problem: str) -> StackError:
    """Return the error for a connector that does not stream, with the repair of the cause.

    `problem` is the message of a `CaptureError`: one line and, if there is one, the connector's
    trace.
    """
    if _TOO_OLD in problem:
        return StackError(
            explain(Damage("slot", "no longer has the next change for Debezium")),
            repair=CAPTURE_AGAIN,
        )
    first, _, trace = problem.partition("\n")
    reason = trace.partition("\n")[0][:_REASON_CHARS]
    message = f"{first}; {reason}" if reason else first
    kept = (
        "No fact is lost: Postgres keeps all facts, and its replication slot keeps unread changes"
    )
    return StackError(f"{message}. {kept}", repair=UP)


def pause(home: Home, by: str) -> None:
    """Pause the connector for the person `by`, and return when it is paused.

    The request is stored in Postgres. The process `capture` reads it there, and keeps the
    connector paused.

    Raises:
        StackError: no stack runs, or the connector is not paused in time.
    """
    variables = environment_of(home)
    _want(variables["INVENTORY_DATABASE_URL"], by)
    client = client_of(variables, timeout_s=5.0)
    try:
        client.pause()
        _until(lambda: client.state().connector in ("PAUSED", "STOPPED"))
    except httpx.HTTPError as error:
        message = (
            f"Connect did not pause the connector: {error}. The capture service pauses it once "
            "Connect answers"
        )
        raise StackError(message, repair=RESTART) from error
    finally:
        client.close()


def resume(home: Home) -> None:
    """Register, resume or restart the connector, as its state requires. Return when it streams.

    Raises:
        StackError: no stack runs, the log lacks changes, or the connector does not stream.
    """
    variables = environment_of(home)
    url = variables["INVENTORY_DATABASE_URL"]
    _want(url, "")
    refuse_damaged(url)
    client = client_of(variables, timeout_s=30.0)

    def wait(client: ConnectClient, url: str) -> None:
        client.restart_failed()
        wait_streaming(client, url, timeout_s=_STREAMS_WITHIN_S)

    try:
        capture(client, url, wait)
    except httpx.HTTPError as error:
        message = f"Connect did not resume the connector: {error}. Postgres keeps all facts"
        raise StackError(message, repair=RESTART) from error
    finally:
        client.close()


def _paused(database_url: str) -> bool:
    with psycopg.connect(database_url, connect_timeout=5, autocommit=True) as connection:
        return bool(paused_by(connection))


def _want(database_url: str, by: str) -> None:
    with psycopg.connect(database_url, connect_timeout=5, autocommit=True) as connection:
        request_pause(connection, by)


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _STREAMS_WITHIN_S
    while not condition():
        if time.monotonic() > deadline:
            message = f"the connector is not paused after {_STREAMS_WITHIN_S:.0f} s"
            raise StackError(message, repair=RESTART)
        time.sleep(0.1)
