"""An archive at an HTTP address: a failing server isn't reported as a missing file."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from typing_extensions import override

from analytics.archive.storage import NoArchive, storage_of

HEAD = "_head.json"
CONTENT = b"five bytes and more"


@contextmanager
def server(status: int = 200, *, has_length: bool = True) -> Iterator[str]:
    """Yield the address of a server that answers `status`, and status 200 with `CONTENT`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if status >= 400:
                self.send_error(status)
                return
            self.send_response(status)
            if has_length:
                self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT if self.command == "GET" else b"")

        do_HEAD = do_GET  # noqa: N815 -- the name that the standard library calls

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    with HTTPServer(("127.0.0.1", 0), Handler) as found:
        thread = Thread(target=found.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{found.server_port}/archive"
        finally:
            found.shutdown()
            thread.join()


def test_a_file_has_its_content_and_size() -> None:
    with server() as address:
        storage = storage_of(address)

        assert storage.read(HEAD) == CONTENT
        assert storage.sizes()(HEAD) == len(CONTENT)


def test_a_server_without_sizes_is_reported() -> None:
    with (
        server(has_length=False) as address,
        pytest.raises(NoArchive, match="the server states no size"),
    ):
        storage_of(address).sizes()(HEAD)


@pytest.mark.parametrize("status", [404, 410])
def test_an_absent_file_is_missing(status: int) -> None:
    with server(status) as address:
        with pytest.raises(FileNotFoundError):
            storage_of(address).read(HEAD)
        with pytest.raises(FileNotFoundError):
            storage_of(address).sizes()(HEAD)


def test_a_failing_server_is_reported_with_the_address() -> None:
    with server(500) as address:
        with pytest.raises(NoArchive, match="500") as refused:
            storage_of(address).read(HEAD)
        with pytest.raises(NoArchive, match="500"):
            storage_of(address).sizes()(HEAD)

    assert str(refused.value).startswith(f"{address}/{HEAD}: ")
    assert refused.value.step.startswith("check the URL and its server")


def test_a_refused_connection_is_not_a_missing_file() -> None:
    with server() as address:
        pass

    with pytest.raises(NoArchive, match="Cannot connect") as refused:
        storage_of(address).read(HEAD)
    with pytest.raises(NoArchive, match="Cannot connect"):
        storage_of(address).sizes()(HEAD)

    assert "AWS_" not in refused.value.step
