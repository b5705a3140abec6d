"""Event streams that stay open during a measurement, as those of further open pages."""

import selectors
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from socket import socket
from typing import Final
from urllib.parse import urlsplit

from bench.watch import BenchFailed

_OPENS_WITHIN_S: Final = 30.0
_WAIT_S: Final = 0.2
_READ_BYTES: Final = 1 << 16


@contextmanager
def open_streams(url: str, address: str, cookies: str, number: int) -> Iterator[threading.Event]:
    """Open `number` event streams at `address`. Read and discard their events until the block ends.

    The block's value is set when the server has closed all streams.

    Raises:
        BenchFailed: the server refused a stream, or closed one before the end of the block.
    """
    ends, all_closed, closed = threading.Event(), threading.Event(), list[socket]()
    with ExitStack() as stack:
        streams = [_opened(stack, url, address, cookies) for _ in range(number)]
        work = (streams, closed, ends, all_closed)
        thread = threading.Thread(target=_discard, args=work, daemon=True)
        thread.start()
        try:
            yield all_closed
        finally:
            ends.set()
            thread.join()
    if closed:
        problem = f"the server closed {len(closed)} of {number} event streams"
        raise BenchFailed(problem)


def _opened(stack: ExitStack, url: str, address: str, cookies: str) -> socket:
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=_OPENS_WITHIN_S)
    stack.enter_context(closing(connection))
    connection.request("GET", address, headers={"Cookie": cookies, "Accept": "text/event-stream"})
    connected = connection.sock
    response = stack.enter_context(connection.getresponse())
    if response.status != HTTPStatus.OK:
        problem = f"an event stream was refused with {response.status} {response.reason}"
        raise BenchFailed(problem)
    return connected


def _discard(
    streams: list[socket],
    closed: list[socket],
    ends: threading.Event,
    all_closed: threading.Event,
) -> None:
    """Read all streams in one thread, because 50 threads would delay the writer of the load."""
    with selectors.DefaultSelector() as waiting:
        for opened in streams:
            waiting.register(opened, selectors.EVENT_READ, opened)
        while not ends.is_set():
            for ready, _ in waiting.select(_WAIT_S):
                stream: socket = ready.data
                if _is_closed(stream):
                    waiting.unregister(stream)
                    closed.append(stream)
                    if len(closed) == len(streams):
                        all_closed.set()


def _is_closed(stream: socket) -> bool:
    """Read a stream that is ready. Return True if the server has closed or reset it."""
    try:
        return not stream.recv(_READ_BYTES)
    except OSError:
        return True
