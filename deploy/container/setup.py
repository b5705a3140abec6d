"""The one-shot container: database, migrations, topics, connector; safe to run again.

`python -m deploy.container.setup` takes the same steps as `inventory up`, from the same functions.
"""

import os
import sys
from pathlib import Path
from typing import Final

import httpx
import psycopg
from confluent_kafka import KafkaException

from cdc.capture.admin import create_topics
from cdc.capture.client import ConnectClient, wait_streaming
from deploy.errors import StackError
from deploy.parts import DATABASE
from deploy.stack import bootstrap, capture
from deploy.stack.context import APPLICATIONS
from deploy.stack.generation import generation_of
from deploy.stack.home import Home

# A part that restarts meanwhile; the container's restart policy runs these steps again.
_AWAY: Final = (psycopg.OperationalError, httpx.HTTPError, KafkaException, OSError)
AGAIN: Final = "docker compose up --detach --wait"
STOP: Final = f"docker compose stop worker-1 worker-2 {' '.join(APPLICATIONS)}"
GENERATION: Final = "docker compose run --rm generation"
ANEW: Final = f"{STOP} && {GENERATION} && {AGAIN}"
_PASSWORDS: Final = {
    "retail_owner": "RETAIL_OWNER_PASSWORD",
    "app_rw": "APP_RW_PASSWORD",
    "sink_rw": "SINK_RW_PASSWORD",
    "archiver": "ARCHIVER_PASSWORD",
    "app_ro": "APP_RO_PASSWORD",
    "cdc": "CDC_PASSWORD",
}


def refuse_half_captured() -> None:
    """Raise `StackError` if the capture of a new generation was cut off."""
    generation = generation_of(Home(Path(variable("INVENTORY_HOME"))))
    if not generation.captured:
        message = f"the capture of generation {generation.number} was cut off"
        raise StackError(message, repair=ANEW)


def variable(name: str) -> str:
    """An environment variable that has to be set."""
    value = os.environ.get(name, "")
    if not value:
        message = f"{name} is not set: expected in the file .env beside docker-compose.yml"
        raise StackError(message, repair=AGAIN)
    return value


def server_of() -> bootstrap.Server:
    """Return the Postgres that the variables name."""
    host, superuser = variable("POSTGRES_HOST"), variable("POSTGRES_PASSWORD")
    port = int(os.environ.get("POSTGRES_PORT", "5432"))
    address = f"postgresql://postgres:{superuser}@{host}:{port}"
    return bootstrap.Server(
        maintenance_url=f"{address}/postgres",
        database_url=f"{address}/{DATABASE}",
        owner_url=variable("INVENTORY_OWNER_DATABASE_URL"),
        passwords={role: variable(name) for role, name in _PASSWORDS.items()},
    )


def main() -> None:
    """Set everything up, in the order of the local stack.

    Raises:
        StackError: the capture is damaged or was cut off; nothing reads the log then.
    """
    server = server_of()
    refuse_half_captured()
    bootstrap.create_database(server)
    bootstrap.migrate(server, os.environ, Path(os.environ["INVENTORY_HOME"], "migrate.log"))
    create_topics(variable("INVENTORY_KAFKA_BOOTSTRAP"))
    client = ConnectClient(
        variable("INVENTORY_CONNECT_URL"), variable("INVENTORY_CONNECT_PASSWORD")
    )
    try:
        capture.refuse_damaged(server.database_url)
        capture.capture(client, server.database_url, wait_streaming)
    except StackError as error:
        is_damage = error.repair == capture.ANEW
        raise StackError(str(error), repair=ANEW if is_damage else AGAIN) from error
    finally:
        client.close()
    sys.stdout.write("database, topics and connector are ready\n")


if __name__ == "__main__":
    try:
        main()
    except (StackError, *_AWAY) as error:
        sys.exit(f"error: {error}\nrepair: {getattr(error, 'repair', '') or AGAIN}")
