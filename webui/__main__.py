"""`python -m webui`: the web server with the live feed beside it, on one event loop."""

import asyncio
import contextlib

import structlog
import uvicorn
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from webui.config.asgi import application  # sets Django up, so it stands before everything of ours

log = structlog.get_logger(__name__)


class ServerSettings(BaseSettings):
    """Where the pages are served."""

    model_config = SettingsConfigDict(env_prefix="INVENTORY_", frozen=True)

    web_host: str = "127.0.0.1"
    web_port: int = Field(default=8080, ge=0, le=65_535)
    log_level: str = Field(default="INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")


def read_model_offsets() -> dict[int, int]:
    """Where the projector is in the changelog; nothing while the database cannot say."""
    from django.db import DatabaseError, connection  # noqa: PLC0415 -- needs Django set up

    from cdc.contracts.topics import ON_HAND_CHANGELOG  # noqa: PLC0415 -- needs Django set up

    sql = "SELECT partition, next_offset FROM read_model.sink_position WHERE sink = 'projector' AND topic = %s"
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql, [ON_HAND_CHANGELOG])
            return dict(cursor.fetchall())
    except DatabaseError as failure:
        log.warning("the live feed begins at the end", error=str(failure))
        return {}
    finally:
        connection.close()


class Server(uvicorn.Server):
    """Ends open streams first, so that stopping does not wait for the pages that people look at."""

    def handle_exit(self, sig: int, frame: object) -> None:
        """SIGTERM or SIGINT: let the streams end, then stop."""
        from webui.live.stream import HUB  # noqa: PLC0415 -- needs Django set up

        HUB.close()
        super().handle_exit(sig, frame)  # type: ignore[arg-type] -- frame is only passed on


async def serve(settings: ServerSettings) -> None:
    """Serve pages and streams until a signal arrives."""
    from django.conf import settings as django_settings  # noqa: PLC0415 -- needs Django set up

    from webui.live.feed import Feed  # noqa: PLC0415 -- needs Django set up
    from webui.live.stream import HUB  # noqa: PLC0415 -- needs Django set up

    connections = django_settings.CONNECTIONS
    feed = Feed(HUB, bootstrap=connections.kafka_bootstrap, partitions=connections.partitions)
    feed.begin_at(await asyncio.to_thread(read_model_offsets))
    server = Server(
        uvicorn.Config(
            application,
            host=settings.web_host,
            port=settings.web_port,
            log_level=settings.log_level.lower(),
            access_log=False,
            lifespan="off",
            server_header=False,
            timeout_graceful_shutdown=3,
        )
    )
    reading = asyncio.create_task(feed.run())
    try:
        await server.serve()
    finally:
        reading.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await reading


def main() -> None:
    """Run the server."""
    asyncio.run(serve(ServerSettings()))


if __name__ == "__main__":
    main()
