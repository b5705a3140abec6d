"""The web server ends if its live feed fails, separates requests, and trusts only named proxies."""

import asyncio
import re
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.test import override_settings

HOST = b"Host: localhost\r\n"
BEHIND = b"GET /livez HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
POST = b"POST /livez HTTP/1.1\r\n" + HOST
CHUNKED, NOTHING = b"Transfer-Encoding: chunked\r\n", b"\r\n0\r\n\r\n"


def test_a_failed_live_feed_ends_the_server_with_its_error(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = import_module("webui.__main__")  # here, because it needs Django set up

    async def broken(_feed: object) -> None:
        message = "a record of another schema"
        raise RuntimeError(message)

    monkeypatch.setattr(web.Feed, "run", broken)

    async def serve() -> None:
        await asyncio.wait_for(web.serve(web.ServerSettings(web_port=0)), timeout=120)

    with pytest.raises(RuntimeError, match="another schema"):
        asyncio.run(serve())


async def answered(request: bytes, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Send bytes to the web server on one connection; return the status of each answer."""
    web: Any = import_module("webui.__main__")  # here, because it needs Django set up
    ready: asyncio.Future[web.Server] = asyncio.get_running_loop().create_future()

    class Watched(web.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            ready.set_result(self)

    async def silent(_feed: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(web, "Server", Watched)
    monkeypatch.setattr(web.Feed, "run", silent)
    serving = asyncio.create_task(web.serve(web.ServerSettings(web_port=0)))
    server = await asyncio.wait_for(ready, timeout=120)
    try:
        port = server.servers[0].sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request)
        text = await asyncio.wait_for(reader.read(), timeout=120)
        writer.close()
    finally:
        server.should_exit = True
        await serving
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", text)]


@pytest.mark.parametrize(
    ("request_bytes", "statuses"),
    [
        # Transfer-Encoding wins. By Content-Length, 6 bytes of the next request would be the body.
        (POST + b"Content-Length: 6\r\n" + CHUNKED + NOTHING + BEHIND, [403, 200]),
        (POST + CHUNKED + NOTHING + BEHIND, [403, 200]),
        (POST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde" + BEHIND, [400]),
        (POST + b"Content-Length: +4\r\n\r\nabcd" + BEHIND, [400]),
        (POST + b"Transfer-Encoding: gzip, chunked\r\n" + NOTHING + BEHIND, [400]),
        (POST + b"Transfer-Encoding : chunked\r\n" + NOTHING + BEHIND, [400]),
    ],
    ids=["both", "chunks", "two lengths", "a sign", "two codings", "a blank"],
)
def test_a_request_body_cannot_smuggle_another_request(
    ledger: psycopg.Connection,
    monkeypatch: pytest.MonkeyPatch,
    request_bytes: bytes,
    statuses: list[int],
) -> None:
    assert asyncio.run(answered(request_bytes, monkeypatch)) == statuses


@pytest.mark.parametrize(
    ("trusted", "source"),
    [("", "127.0.0.1"), ("192.0.2.1", "127.0.0.1"), ("127.0.0.1", "203.0.113.9")],
)
def test_x_forwarded_for_is_used_from_trusted_proxies_only(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, trusted: str, source: str
) -> None:
    ledger.execute("DELETE FROM app.refusal")
    request = POST + b"X-Forwarded-For: 203.0.113.9\r\nConnection: close\r\n\r\n"

    with override_settings(TRUSTED_PROXIES=trusted):
        assert asyncio.run(answered(request, monkeypatch)) == [403]

    assert ledger.execute("SELECT source FROM app.refusal").fetchall() == [(source,)]
