"""The web server and its live feed end together."""

import asyncio
from importlib import import_module

import psycopg
import pytest


def test_a_broken_feed_ends_the_server_with_its_error(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = import_module("webui.__main__")  # late: it needs Django set up

    async def broken(_feed: object) -> None:
        message = "a record of another schema"
        raise RuntimeError(message)

    monkeypatch.setattr(web.Feed, "run", broken)

    async def serve() -> None:
        await asyncio.wait_for(web.serve(web.ServerSettings(web_port=0)), timeout=120)

    with pytest.raises(RuntimeError, match="another schema"):
        asyncio.run(serve())
