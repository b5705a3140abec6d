"""A new generation of the log in containers: `docker compose run --rm generation`.

In a local stack, `inventory generation` moves the files of the stopped broker. In containers the
broker runs, so this command deletes the topics, the workers' group and the connector's offsets
instead. After that, it does the same as the next start of a local stack: Debezium captures every
row of Postgres into empty topics while no process reads them.

If this command is interrupted, the setup container fails, and no service starts. Run the command
again.
"""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import httpx
import psycopg
from confluent_kafka import KafkaException

from cdc.capture.admin import create_topics, delete_group, delete_topics
from cdc.capture.client import SLOT, CaptureError, ConnectClient, slot_active
from cdc.capture.reconciler import config_of
from cdc.contracts.topics import APP_ID, TOPICS
from cdc.deciding import recorded_revision
from deploy.container.setup import GENERATION, STOP, UP, server_of, variable
from deploy.errors import StackError
from deploy.stack import capture, generation, recapture
from deploy.stack.generation import Generation
from deploy.stack.home import Home
from inventory.revision import LOGIC_REVISION

OWN_RULES: Final = "--own-rules"
_QUIET_S: Final = 15.0
_ENDED_WITHIN_S: Final = 60.0
_POLL_S: Final = 0.2
_ALIVE: Final = """
SELECT service FROM read_model.service_heartbeat
WHERE at > clock_timestamp() - make_interval(secs => %s) ORDER BY service
"""


def main(arguments: Sequence[str]) -> None:
    """Create the next generation, and capture every row of Postgres into its empty topics.

    Raises:
        StackError: a service still runs, a logic revision other than this code's decides, a
        partition would get too many rows, or the capture failed.
    """
    own_rules = "setup container" if OWN_RULES in arguments else ""
    url, bootstrap = server_of().database_url, variable("INVENTORY_KAFKA_BOOTSTRAP")
    home = Home(Path(variable("INVENTORY_HOME")))
    _refuse(url, own_rules)
    recapture.refuse_too_many(url)
    password = variable("INVENTORY_CONNECT_PASSWORD")
    client = ConnectClient(variable("INVENTORY_CONNECT_URL"), password)
    coming, former = generation.move_away(home, generation.generation_of(home), own_rules)
    sys.stdout.write(f"the former files of the services are in {former}\n")
    _delete_log(client, url, bootstrap)
    _capture(client, home, url, bootstrap, coming)
    sys.stdout.write(f"generation {coming.number} is captured; start the services: {UP}\n")


def _refuse(url: str, own_rules: str) -> None:
    with psycopg.connect(url, connect_timeout=5, autocommit=True) as connection:
        decides = recorded_revision(connection)
    if decides not in (None, LOGIC_REVISION) and not own_rules:
        message = (
            f"logic revision {decides} decides, but the workers here have {LOGIC_REVISION}; "
            "nothing was changed"
        )
        command = f"{GENERATION} python -m deploy.container.generation {OWN_RULES}"
        raise StackError(message, repair=command)
    deadline = time.monotonic() + _QUIET_S + 1.0
    while running := _alive(url):
        if time.monotonic() > deadline:
            message = f"{', '.join(running)} still run; nothing was changed"
            raise StackError(message, repair=f"{STOP} && {GENERATION}")
        time.sleep(_POLL_S)


def _alive(url: str) -> list[str]:
    """Return the services with a heartbeat in the last 15 s."""
    with psycopg.connect(url, connect_timeout=5, autocommit=True) as connection:
        return [str(name) for (name,) in connection.execute(_ALIVE, (_QUIET_S,)).fetchall()]


def _delete_log(client: ConnectClient, url: str, bootstrap: str) -> None:
    """Delete the former log's topics and all offsets stored for them, and create empty topics.

    Raises:
        StackError: workers are still in their group, or a connector still uses the replication
        slot.
    """
    _delete_group(bootstrap)
    client.delete_offsets(config_of(url))
    wait_released(url, _ENDED_WITHIN_S)
    delete_topics(bootstrap, [topic.name for topic in TOPICS])
    create_topics(bootstrap)


def wait_released(url: str, within_s: float) -> None:
    """Wait until no connector streams through the replication slot.

    Raises:
        StackError: a connector still uses the slot after `within_s` seconds.
    """
    deadline = time.monotonic() + within_s
    while slot_active(url):
        if time.monotonic() > deadline:
            message = f"the slot {SLOT} is still in use after {within_s:g} s. The topics were kept"
            raise StackError(message, repair=f"docker compose restart connect && {GENERATION}")
        time.sleep(_POLL_S)


def _delete_group(bootstrap: str) -> None:
    try:
        delete_group(bootstrap, APP_ID, within_s=_ENDED_WITHIN_S)
    except KafkaException as error:
        message = f"workers are in the group {APP_ID}: {error}. The topics were kept"
        raise StackError(message, repair=f"{STOP} && {GENERATION}") from error


def _capture(
    client: ConnectClient, home: Home, url: str, bootstrap: str, coming: Generation
) -> None:
    capture.publish_tables(variable("INVENTORY_OWNER_DATABASE_URL"))
    recapture.forget_former_topics(url, coming)
    capture.capture(client, url, lambda asked, at: recapture.wait_complete(asked, at, bootstrap))
    recapture.finish(home, url)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (StackError, CaptureError, httpx.HTTPError, KafkaException, psycopg.Error) as problem:
        repair = getattr(problem, "repair", "")
        is_local = not repair or repair.startswith("inventory ")
        sys.exit(f"error: {problem}\nrepair: {GENERATION if is_local else repair}")
