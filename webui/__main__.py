"""Start the web server and the live feed on one event loop: `python -m webui`."""

import asyncio
import contextlib
from types import FrameType
from typing import Protocol

import structlog
import uvicorn
from django.conf import settings as django_settings
from django.db import DatabaseError, connection
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict
from typing_extensions import override

from cdc.contracts.topics import ON_HAND_CHANGELOG
from cdc.logs import configure_logging
from webui.config.asgi import application
from webui.live.feed import Feed
from webui.live.read_model import follow_read_model
from webui.live.stream import HUB

log = structlog.get_logger(__name__)


class ServerSettings(BaseSettings):
    """Address, port and log level of the web server."""

    model_config = SettingsConfigDict(env_prefix="INVENTORY_", frozen=True)

    web_host: str = "127.0.0.1"
    web_port: int = Field(default=8080, ge=0, le=65_535)
    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")


def read_model_offsets() -> dict[int, int]:
    """Return {partition: next changelog offset that the read model will apply}.

    The result is {} if the database is unreachable.
    """
    sql = (
        "SELECT partition, next_offset FROM read_model.sink_position"
        " WHERE sink = 'projector' AND topic = %s"
    )
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, [ON_HAND_CHANGELOG])
            return dict(cursor.fetchall())
    except DatabaseError as failure:
        log.warning(
            "the database does not answer: the live feed starts at the end of the changelog",
            error=str(failure),
        )
        return {}
    finally:
        connection.close()


def encrypt_stored_secrets() -> None:
    """Encrypt the authenticator secrets that an earlier release stored in plain text.

    A secret that stays in plain text, for example after a database error, is encrypted when its
    person next logs in.
    """
    from webui.accounts.second_factor import encrypt_stored  # noqa: PLC0415 -- needs Django's setup

    # Without the setting `secret_key`, only this process has the key. After the process has ended,
    # nobody could decrypt the secrets.
    if "secret_key" not in django_settings.ENVIRONMENT.model_fields_set:
        log.warning(
            "INVENTORY_SECRET_KEY is not set, so this process uses a temporary key. When it ends, "
            "sessions end, and secrets of second factors that were stored meanwhile are lost"
        )
        return
    try:
        if found := encrypt_stored():
            log.info(
                "authenticator secrets were stored in plain text and are now encrypted",
                secrets=found,
            )
    except DatabaseError as failure:
        log.warning(
            "stored authenticator secrets were not encrypted; the next login of each person "
            "encrypts that person's secret",
            error=type(failure).__name__,
        )
    finally:
        connection.close()


class Server(uvicorn.Server):
    """A server that ends open event streams first, so that its shutdown doesn't wait for them."""

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End all event streams on SIGTERM or SIGINT by closing the hub. Then stop the server."""
        HUB.close()
        super().handle_exit(sig, frame)


class Changes(Protocol):
    """Source of the stock changes that open pages get: `Feed`, or one that a benchmark passes."""

    def begin_at(self, offsets: dict[int, int]) -> None:
        """Set the first offset to read of each partition of the changelog.

        `offsets` is {partition: next offset that the read model will apply}.
        """
        ...

    async def run(self) -> None:
        """Publish changes to the hub until cancelled."""
        ...


async def serve(settings: ServerSettings, feed: Changes | None = None) -> None:
    """Serve pages and event streams until a signal arrives.

    `feed` publishes changes of stock. The default feed reads the workers' changelog.

    Raises:
        Exception: the feed failed. An unreachable broker is no failure: the feed retries.
    """
    connections = django_settings.CONNECTIONS
    feed = feed or Feed(
        HUB, bootstrap=connections.kafka_bootstrap, partitions=connections.partitions
    )
    await asyncio.to_thread(encrypt_stored_secrets)
    feed.begin_at(await asyncio.to_thread(read_model_offsets))
    server = Server(
        uvicorn.Config(
            application,
            host=settings.web_host,
            port=settings.web_port,
            log_level=settings.log_level.lower(),
            log_config=None,  # log lines use the project's own format
            access_log=False,
            lifespan="off",
            server_header=False,
            proxy_headers=bool(django_settings.TRUSTED_PROXIES),
            forwarded_allow_ips=django_settings.TRUSTED_PROXIES or None,
            timeout_graceful_shutdown=3,
        )
    )
    tasks = [asyncio.create_task(feed.run()), asyncio.create_task(follow_read_model(HUB))]

    def stop_serving(_: asyncio.Task[None]) -> None:
        # If one of the tasks has ended, pages would show stale data or a wrong age. So the process
        # ends, and the supervisor restarts it.
        HUB.close()
        server.should_exit = True

    for task in tasks:
        task.add_done_callback(stop_serving)
    try:
        await server.serve()
    finally:
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task


def main() -> None:
    """Run the server."""
    settings = ServerSettings()
    configure_logging(level=settings.log_level, service="web")
    asyncio.run(serve(settings))


if __name__ == "__main__":
    main()
