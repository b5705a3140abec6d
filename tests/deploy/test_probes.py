"""HTTP probes: their results, and the CPU time that they take in the supervisor."""

import threading
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from typing_extensions import override

from deploy.stack.probes import http_alive, http_ok


class Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        status = HTTPStatus.OK if self.path == "/readyz" else HTTPStatus.SERVICE_UNAVAILABLE
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    @override
    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_service_is_ready_with_status_200_and_alive_with_any_answer(url: str) -> None:
    assert (http_ok(f"{url}/readyz"), http_alive(f"{url}/readyz")) == (True, True)
    assert (http_ok(f"{url}/livez"), http_alive(f"{url}/livez")) == (False, True)


def test_a_service_that_does_not_answer_is_neither_ready_nor_alive() -> None:
    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        unused = f"http://127.0.0.1:{server.server_port}"

    assert (http_ok(unused), http_alive(unused)) == (False, False)


def test_a_probe_does_not_load_certificates_each_time(url: str) -> None:
    http_alive(url)

    began = time.thread_time()
    for _ in range(20):
        http_alive(url)

    # It takes 0.4 s if each probe loads the certificates, and 0.03 s if none does.
    assert time.thread_time() - began < 0.2
