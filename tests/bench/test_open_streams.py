"""Event streams that a bench holds open: refused and closed streams fail the measurement."""

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from typing_extensions import override

from bench.errors import BenchFailed
from bench.load import baskets
from bench.open_streams import _is_closed, open_streams

DEADLINE_S = 10
RESET = struct.pack("ii", 1, 0)  # close at once, with a reset instead of an end of the stream


class Streams(ThreadingHTTPServer):
    """A server of event streams that counts them and ends them on demand."""

    daemon_threads = True

    def __init__(self, status: int) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.status = status
        self.cookies: list[str] = []
        self.end = threading.Event()
        self.resets = False
        self.closed = threading.Semaphore(0)  # connections that this server has closed

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @override
    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        self.closed.release()


class Handler(BaseHTTPRequestHandler):
    server: Streams

    def do_GET(self) -> None:
        self.server.cookies.append(f"{self.path} {self.headers['Cookie']}")
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(b"event: age\n\n")
        self.server.end.wait(DEADLINE_S)
        if self.server.resets:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.connection.close()

    @override
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def serving(status: int) -> Iterator[Streams]:
    with Streams(status) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.end.set()
            server.shutdown()
            thread.join()


def test_all_streams_are_open_during_the_block() -> None:
    with serving(200) as server, open_streams(server.url, "/live?a=1", "session=x", 3):
        assert server.cookies == ["/live?a=1 session=x"] * 3


def test_a_refused_stream_fails_the_measurement() -> None:
    with (
        serving(503) as server,
        pytest.raises(BenchFailed, match="refused with 503"),
        open_streams(server.url, "/live", "", 1),
    ):
        pytest.fail("the block must not begin")


def test_a_closed_stream_is_detected_after_an_unread_event() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(0)
        theirs.send(b"event: age\n\n")
        assert not _is_closed(ours)
        theirs.send(b"event: age\n\n")
        theirs.close()
        assert _is_closed(ours)


@pytest.mark.parametrize("resets", [False, True])
def test_a_closed_stream_fails_the_measurement(*, resets: bool) -> None:
    def measure(server: Streams) -> None:
        with open_streams(server.url, "/live", "", 2):
            server.resets = resets
            server.end.set()
            for _stream in range(2):
                server.closed.acquire(timeout=DEADLINE_S)

    with (
        serving(200) as server,
        pytest.raises(BenchFailed, match="the server closed 2 of 2 event streams"),
    ):
        measure(server)


def test_baskets_add_up_and_have_every_size() -> None:
    sizes = list(baskets(10**9, 1_000, 20))

    assert sum(sizes) == 1_000
    assert set(sizes) == set(range(1, 21))
    assert list(baskets(10**9, 1_000, 20)) == sizes
    assert list(baskets(10**9, 3, 1)) == [1, 1, 1]
