"""No request to a part of the stack goes through the proxy of the environment.

A proxy can't reach the loopback addresses of this machine, and would read token and passwords.
"""

import ast
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from pydantic import SecretStr
from typing_extensions import override

from cdc.capture.client import ConnectClient
from cdc.settings import Connections
from deploy.stack import probes, worker_queries
from tests.house.sources import PACKAGES, name, parsed, python_files

REQUESTS = {f"httpx.{call}" for call in ("Client", "AsyncClient", "get", "post", "put", "request")}


class Part(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    @override
    def log_message(self, *_arguments: object) -> None:
        """Print nothing."""


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Yield a server's address. Environment variables name a proxy at which nothing listens."""
    with HTTPServer(("127.0.0.1", 0), Part) as closed:
        proxy = f"http://127.0.0.1:{closed.server_port}"
    for variable in ("http_proxy", "all_proxy"):
        monkeypatch.setenv(variable, proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with HTTPServer(("127.0.0.1", 0), Part) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_workers_and_connect_are_asked_without_a_proxy(url: str, tmp_path: Path) -> None:
    settings = Connections(home=tmp_path, query_token=SecretStr("token"))
    connect = ConnectClient(url, "password")

    assert probes.http_ok(url)
    assert connect.healthy()
    assert worker_queries.get(settings, url, "/iq/v1/lag") == (HTTPStatus.OK, {})

    connect.close()


def test_every_request_of_the_project_ignores_the_variables_of_proxies() -> None:
    calls = [
        (f"{name(path)}:{node.lineno}", {word.arg: word.value for word in node.keywords})
        for path in python_files(*PACKAGES)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in REQUESTS
    ]

    assert calls
    trusting = [
        place
        for place, words in calls
        if "trust_env" not in words or ast.unparse(words["trust_env"]) != "False"
    ]
    assert trusting == []
