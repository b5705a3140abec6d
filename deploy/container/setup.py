"""The one-shot setup container: database, migrations, topics, connector.

`python -m deploy.container.setup` runs the same steps as `inventory up`, with the same functions.
Each step is idempotent, so the container may run again at any time.
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

# Errors while Postgres, broker or Connect restarts. After such an error, the container's restart
# policy runs all steps again.
_UNAVAILABLE: Final = (psycopg.OperationalError, httpx.HTTPError, KafkaException, OSError)
UP: Final = "docker compose up --detach --wait"
STOP: Final = f"docker compose stop worker-1 worker-2 {' '.join(APPLICATIONS)}"
GENERATION: Final = "docker compose run --rm generation"
CAPTURE_AGAIN: Final = f"{STOP} && {GENERATION} && {UP}"
_PASSWORDS: Final = {
    "retail_owner": "RETAIL_OWNER_PASSWORD",
    "app_rw": "APP_RW_PASSWORD",
    "sink_rw": "SINK_RW_PASSWORD",
    "archiver": "ARCHIVER_PASSWORD",
    "app_ro": "APP_RO_PASSWORD",
    "cdc": "CDC_PASSWORD",
}


def refuse_half_captured() -> None:
    """Raise `StackError` if the capture of the present generation was interrupted."""
    generation = generation_of(Home(Path(variable("INVENTORY_HOME"))))
    if not generation.captured:
        message = f"the capture of generation {generation.number} was interrupted"
        raise StackError(message, repair=CAPTURE_AGAIN)


def variable(name: str) -> str:
    """Return a required environment variable.

    Raises:
        StackError: the variable is not set.
    """
    value = os.environ.get(name, "")
    if not value:
        message = f"{name} is not set: expected in the file .env beside docker-compose.yml"
        raise StackError(message, repair=UP)
    return value


def server_of() -> bootstrap.Server:
    """Return the Postgres server that the container's environment variables name."""
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
    """Create database, topics and connector, in the order of the local stack.

    Raises:
        StackError: the capture is damaged or was interrupted. Then compose starts no other service.
    """
    server = server_of()
    refuse_half_captured()
    bootstrap.create_database(server)
    client = ConnectClient(
        variable("INVENTORY_CONNECT_URL"), variable("INVENTORY_CONNECT_PASSWORD")
    )
    try:
        bootstrap.migrate(server, os.environ, Path(os.environ["INVENTORY_HOME"], "migrate.log"))
        create_topics(variable("INVENTORY_KAFKA_BOOTSTRAP"))
        capture.refuse_damaged(server.database_url)
        capture.capture(client, server.database_url, wait_streaming)
    except StackError as error:
        is_damage = error.repair == capture.CAPTURE_AGAIN
        raise StackError(str(error), repair=CAPTURE_AGAIN if is_damage else UP) from error
    finally:
        client.close()
    sys.stdout.write("database, topics and connector are ready\n")


if __name__ == "__main__":
    try:
        main()
    except (StackError, *_UNAVAILABLE) as error:
        sys.exit(f"error: {error}\nrepair: {getattr(error, 'repair', '') or UP}")
