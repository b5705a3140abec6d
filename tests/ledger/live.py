"""Event streams of a person's pages, read from the ASGI application without a server."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any
from urllib.parse import urlencode

from django.core.handlers.asgi import ASGIHandler
from django.test import Client

DEADLINE_S = 60.0


def user_of(client: Client) -> int:
    """Return the id of the user of this client's session."""
    return int(client.session["_auth_user_id"])


def asked_by(client: Client, keys: Iterable[str]) -> Any:
    """Return the stream request of a page that shows `keys` to this client."""
    access = import_module("webui.live.access")
    return access.Asked(client.session.session_key, user_of(client), frozenset(keys))


def refusal_of(asked: Any) -> str:
    """Return the reason for ending the open stream of `asked_by`, or "" if it may continue."""
    [refusal] = import_module("webui.live.access").refusals([asked])
    return "" if refusal is None else str(refusal.text)


class Stream:
    """One open stream: its status and the events that it has sent."""

    def __init__(self) -> None:
        self.status = 0
        self.sent = b""
        self.is_over = False
        self._left = asyncio.Event()

    @property
    def names(self) -> list[str]:
        """Names of all events so far."""
        return [
            line.removeprefix("event: ")
            for line in self.sent.decode().splitlines()
            if line.startswith("event: ")
        ]

    def data(self, name: str) -> Any:
        """Return the content of the newest event of this name."""
        text = self.sent.decode().rpartition(f"event: {name}\ndata: ")[2]
        return json.loads(text.partition("\n")[0])

    def leave(self) -> None:
        """Close the connection."""
        self._left.set()

    async def run(self, handler: ASGIHandler, scope: dict[str, Any]) -> None:
        """Request the stream and follow it until its end or `leave`."""
        asked = False

        async def receive() -> dict[str, Any]:
            nonlocal asked
            if not asked:
                asked = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await self._left.wait()
            return {"type": "http.disconnect"}

        async def send(message: Mapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                self.status = message["status"]
            self.sent += message.get("body", b"")

        try:
            await handler(scope, receive, send)
        finally:
            self.is_over = True


def request_of(client: Client, keys: Iterable[str] = ("MINE-1|S",)) -> dict[str, Any]:
    """Return the ASGI scope of the stream of a page that shows `keys` to this client."""
    token = import_module("webui.live.access").sign_keys(user_of(client), list(keys))
    return {
        "type": "http",
        "method": "GET",
        "path": "/live/stream",
        "query_string": urlencode({"keys": token}).encode(),
        "headers": [
            (b"host", b"localhost"),
            (b"cookie", f"sessionid={client.session.session_key}".encode()),
        ],
    }


@asynccontextmanager
async def open_streams(request: dict[str, Any], number: int) -> AsyncIterator[list[Stream]]:
    """Open `number` streams of `request_of` at once. Close them at the end."""
    handler, streams = ASGIHandler(), [Stream() for _ in range(number)]
    tasks = [asyncio.create_task(stream.run(handler, dict(request))) for stream in streams]
    try:
        yield streams
    finally:
        for stream in streams:
            stream.leave()
        await asyncio.gather(*tasks)


async def until(holds: Callable[[], bool], streams: Iterable[Stream] = ()) -> None:
    """Wait until `holds` is true.

    Raises:
        AssertionError: it is still false at the deadline. The message has each stream's status
            and last 200 bytes.
    """
    deadline = time.monotonic() + DEADLINE_S
    while not holds():
        seen = [(stream.status, stream.sent[-200:]) for stream in streams]
        assert time.monotonic() < deadline, seen
        await asyncio.sleep(0.01)
