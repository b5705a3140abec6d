"""Event streams that stay open during a measurement, to simulate further open pages."""

import selectors
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from socket import socket
from typing import Final
from urllib.parse import urlsplit

from bench.errors import BenchFailed

_OPENS_WITHIN_S: Final = 30.0
_WAIT_S: Final = 0.2
_READ_BYTES: Final = 1 << 16


@contextmanager
def open_streams(url: str, address: str, cookies: str, number: int) -> Iterator[None]:
    """Open `number` event streams at `address`. Read and discard their events until the block ends.

    Raises:
        BenchFailed: the server refused a stream, or closed one before the end of the block.
    """
    ends, closed = threading.Event(), list[socket]()
    with ExitStack() as stack:
        streams = [_opened(stack, url, address, cookies) for _ in range(number)]
        thread = threading.Thread(target=_discard, args=(streams, closed, ends), daemon=True)
        thread.start()
        try:
            yield
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


def _discard(streams: list[socket], closed: list[socket], ends: threading.Event) -> None:
    """Read all streams in one thread, because 50 threads would delay the writer of the load.

    Read once more after `ends` is set, to find each stream that the server has closed by then.
    """
    with selectors.DefaultSelector() as waiting:
        for opened in streams:
            opened.settimeout(0)
            waiting.register(opened, selectors.EVENT_READ, opened)
        is_last = False
        while not is_last:
            is_last = ends.is_set()
            for ready, _ in waiting.select(0 if is_last else _WAIT_S):
                stream: socket = ready.data
                if _is_closed(stream):
                    waiting.unregister(stream)
                    closed.append(stream)


def _is_closed(stream: socket) -> bool:
    """Read all that a stream has. Return True if the server has closed or reset it.

    A single read could return only the last event, and miss the end of the stream after it.
    """
    try:
        while stream.recv(_READ_BYTES):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True
