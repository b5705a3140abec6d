"""Many open event streams on one key: the time from a change until each stream has it."""

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from bench.load import percentile
from bench.watch import BenchFailed

_OPENED_S: Final = 300.0
_RECEIVED_S: Final = 120.0
_TOGETHER: Final = 50  # streams that open at the same time

Publish = Callable[[int], str]  # publishes change n, returns the text that its event contains


@dataclass(frozen=True, slots=True)
class Fanout:
    """Milliseconds from a change to its event, over all streams and changes.

    `last_ms` has the slowest stream of each change, in order.
    """

    streams: int
    changes: int
    received: int
    open_s: float
    p50_ms: float
    p99_ms: float
    last_ms: tuple[float, ...]


class _Stream:
    """One open event stream, and the last bytes that it received."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._buffer = b""

    async def until(self, text: bytes) -> float:
        """Wait until `text` has arrived. Return the time in seconds of `time.perf_counter`.

        Raises:
            BenchFailed: the stream ended before `text` arrived.
        """
        while text not in self._buffer:
            more = await self._reader.read(1 << 16)
            if not more:
                problem = f"a stream ended before {text!r}: {self._buffer[-200:]!r}"
                raise BenchFailed(problem)
            # An event may arrive in two parts, so the end of the earlier bytes is kept.
            self._buffer = self._buffer[-(1 << 14) :] + more
        return time.perf_counter()

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


def measure(url: str, address: str, cookies: str, publish: Publish, plan: Sequence[int]) -> Fanout:
    """Open `plan[0]` streams at `address`, publish `plan[1]` changes one after another."""
    return asyncio.run(_measure(url, address, cookies, publish, plan))


async def _measure(
    url: str, address: str, cookies: str, publish: Publish, plan: Sequence[int]
) -> Fanout:
    number, changes = plan
    began = time.perf_counter()
    streams = await _opened(url, address, cookies, number)
    open_s = time.perf_counter() - began
    every, last = list[float](), list[float]()
    try:
        for change in range(changes):
            sent = time.perf_counter()
            text = json.dumps(publish(change)).encode()
            async with asyncio.timeout(_RECEIVED_S):
                found = await asyncio.gather(*(stream.until(text) for stream in streams))
            late = [(at - sent) * 1000 for at in found]
            every += late
            last.append(max(late))
    finally:
        for stream in streams:
            stream.close()
    every.sort()
    return Fanout(
        streams=number,
        changes=changes,
        received=len(every),
        open_s=open_s,
        p50_ms=percentile(every, 500),
        p99_ms=percentile(every, 990),
        last_ms=tuple(last),
    )


async def _opened(url: str, address: str, cookies: str, number: int) -> list[_Stream]:
    """Open the streams, at most 50 at a time. Each has received its first event `age`."""
    place = urlsplit(url)
    request = (
        f"GET {address} HTTP/1.1\r\nHost: {place.netloc}\r\nCookie: {cookies}\r\n"
        "Accept: text/event-stream\r\n\r\n"
    ).encode()
    turns = asyncio.Semaphore(_TOGETHER)

    async def one() -> _Stream:
        async with turns:
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            stream = _Stream(reader, writer)
            writer.write(request)
            await stream.until(b"event: age")
            return stream

    async with asyncio.timeout(_OPENED_S):
        return list(await asyncio.gather(*(one() for _ in range(number))))
