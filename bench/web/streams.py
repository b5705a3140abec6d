"""Many open event streams on one key: the time from a change until each stream has it."""

import asyncio
import json
import time
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar
from urllib.parse import urlsplit

from bench.errors import BenchFailed
from bench.load import percentile

_OPENED_S: Final = 300.0
_RECEIVED_S: Final = 120.0
_TOGETHER: Final = 50  # streams that open at the same time
_OK: Final = b" 200 "

T = TypeVar("T")
Publish = Callable[[int], str]  # publishes change n, returns the text that its event contains


@dataclass(frozen=True, slots=True)
class Fanout:
    """Milliseconds from a change to its event, over all streams and changes.

    `last_ms` has the time of the slowest stream for each change, in the order of the changes.
    `open_s` are the seconds until all streams were open.
    """

    streams: int
    changes: int
    received: int
    open_s: float
    p50_ms: float
    p99_ms: float
    last_ms: tuple[float, ...]


class _Stream:
    """One open event stream: its connection, and the response's first line and last bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._buffer = b""
        self._status = b""

    async def until(self, text: bytes) -> float:
        """Wait until `text` has arrived. Return the time in seconds of `time.perf_counter`.

        Raises:
            BenchFailed: the stream ended before `text` arrived.
        """
        while text not in self._buffer:
            more = await self._reader.read(1 << 16)
            if not more:
                problem = f"a stream ended before {text.decode()!r}: {self._end()}"
                raise BenchFailed(problem)
            self._status = self._status or more.partition(b"\r\n")[0]
            # An event may arrive in two parts, so the end of the earlier bytes is kept.
            self._buffer = self._buffer[-(1 << 14) :] + more
        return time.perf_counter()

    def _end(self) -> str:
        """Return the first line of the response of a stream that ended.

        After a status 200, add the last 200 bytes that arrived.
        """
        status = self._status.decode(errors="replace") or "no response"
        if _OK not in self._status:
            return status
        return f"{status}, then {self._buffer[-200:]!r}"

    def close(self) -> None:
        """Close the connection."""
        self._writer.close()


def measure(url: str, address: str, cookies: str, publish: Publish, plan: Sequence[int]) -> Fanout:
    """Open `plan[0]` streams at `address`, then publish `plan[1]` changes one after another.

    Raises:
        BenchFailed: a stream was refused, ended, or missed a change.
    """
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
            wanted = (stream.until(text) for stream in streams)
            found = await _all(wanted, _RECEIVED_S, f"change {change + 1} of {changes}")
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
    """Open the streams, at most 50 at a time. Return them when each has got its event `age`."""
    place = urlsplit(url)
    request = (
        f"GET {address} HTTP/1.1\r\nHost: {place.netloc}\r\nCookie: {cookies}\r\n"
        "Accept: text/event-stream\r\n\r\n"
    ).encode()
    turns, streams = asyncio.Semaphore(_TOGETHER), list[_Stream]()

    async def one() -> None:
        async with turns:
            reader, writer = await asyncio.open_connection(place.hostname, place.port)
            stream = _Stream(reader, writer)
            streams.append(stream)
            writer.write(request)
            await stream.until(b"event: age")

    try:
        await _all((one() for _ in range(number)), _OPENED_S, "the opening")
    except BenchFailed:
        for stream in streams:
            stream.close()
        raise
    return streams


async def _all(steps: Iterable[Coroutine[None, None, T]], within_s: float, what: str) -> list[T]:
    """Return the result of one step per stream.

    Raises:
        BenchFailed: a stream failed, or wasn't ready within `within_s` seconds. The message has the
            number of these streams and the first error.
    """
    tasks = [asyncio.ensure_future(step) for step in steps]
    _, late = await asyncio.wait(tasks, timeout=within_s)
    for task in late:
        task.cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    results = [each for each in found if not isinstance(each, BaseException)]
    if len(results) == len(found):
        return results
    failed = [each for each in found if isinstance(each, Exception)]
    first = failed[0] if failed else f"not ready after {within_s:g} s"
    problem = f"{what}: {len(found) - len(results)} of {len(found)} event streams failed: {first}"
    raise BenchFailed(problem)
