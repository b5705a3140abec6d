"""An archive at an HTTP address: a failing server isn't reported as a missing file."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest
from typing_extensions import override

from analytics.archive.storage import NoArchive, storage_of


@contextmanager
def server(status: int) -> Iterator[str]:
    """Yield the address of a server that answers each request with `status`."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(status)

        do_HEAD = do_GET  # noqa: N815 -- as above

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


def test_status_404_is_a_missing_file() -> None:
    with server(404) as address, pytest.raises(FileNotFoundError):
        storage_of(address).read("_head.json")


def test_status_500_is_reported_with_the_address() -> None:
    with server(500) as address, pytest.raises(NoArchive, match="500") as refused:
        storage_of(address).read("_head.json")

    assert str(refused.value).startswith(f"{address}/_head.json: ")
    assert refused.value.step.startswith("check the URL and its server")


def test_a_refused_connection_is_not_a_missing_file() -> None:
    with server(404) as address:
        pass

    with pytest.raises(NoArchive, match="Cannot connect") as refused:
        storage_of(address).read("_head.json")

    assert "AWS_" not in refused.value.step
