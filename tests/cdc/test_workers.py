"""Requests to the worker that owns a key: addresses, answers, and reasons for a missing answer."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import SecretStr
from typing_extensions import override

from cdc import workers
from cdc.contracts.state import encode_state
from cdc.settings import Connections
from cdc.workers import LiveKey, PartitionMap, partition_map, query_key, worker_urls
from inventory.model.ids import InvKey, Position
from inventory.model.state import KeyState, Stock

STATE = KeyState(InvKey("L|Tea & pot"), Position(1, 42), stock=Stock(on_hand_units=7))
VALUE = json.loads(encode_state(STATE))
ANSWER = {"schema": 1, "as_of_us": 5, "worker": "worker-2", "value": VALUE}


# Timeout in seconds that a worker's answer doesn't exceed, even on a busy machine.
PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def nobody_answered_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clear the cached workers: another test's worker may have had a port that is in use now."""
    monkeypatch.setattr(workers, "_LAST", [])


@contextmanager
def answering(status: int, body: dict[str, Any] | str, asked: list[str]) -> Iterator[int]:
    """Yield the port of a server that gives each request this answer. Text is sent unchanged."""
    content = body if isinstance(body, str) else json.dumps(body)

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.headers['Authorization']} {self.path}")
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content.encode())

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield server.server_port
        finally:
            server.shutdown()


def settings(home: Path, **services: object) -> Connections:
    (home / "runtime.json").write_text(json.dumps({"services": services}))
    return Connections(home=home, query_token=SecretStr("token"))


def test_the_worker_that_holds_the_key_gives_its_whole_state(tmp_path: Path) -> None:
    body = ANSWER
    asked: list[str] = []
    with answering(421, {}, asked) as other, answering(200, body, asked) as owner:
        known = settings(tmp_path, **{"worker-1": {"port": other}, "worker-2": {"port": owner}})
        found = query_key(known, STATE.inv_key, within_s=PATIENCE_S)

    assert found == LiveKey(STATE, 5, worker="worker-2")
    assert (found.on_hand_units, found.offset) == (7, 42)
    assert asked == ["Bearer token /iq/v1/keys/L%7CTea%20%26%20pot"] * 2


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (404, {}, "the worker has no fact of this key"),
        (503, {"state": "RESTORING"}, "the worker is restoring this partition"),
        (503, {"state": "UNKNOWN"}, "no worker holds this partition"),
        (401, {}, "a worker answered with status 401"),
        (200, ANSWER | {"value": VALUE | {"logic_revision": -1}}, "logic_revision -1 is unknown"),
        (200, ANSWER | {"schema": 2}, "answer_key record: schema 2 is unknown here; known: 1"),
        (200, ANSWER | {"schema": None}, "schema None is unknown here; known: 1"),
        (200, "<html>", "a worker's answer can't be read"),
        (503, "<html>", "a worker's answer can't be read"),
        (200, "[]", "a worker's answer can't be read"),
        (200, {"schema": 1}, "a worker's answer can't be read"),
    ],
)
def test_query_key_returns_the_reason_if_there_is_no_state(
    tmp_path: Path, status: int, body: dict[str, Any] | str, problem: str
) -> None:
    with answering(status, body, []) as port:
        found = query_key(
            settings(tmp_path, **{"worker-1": {"port": port}}), "L|S", within_s=PATIENCE_S
        )

    assert (found.state, found.on_hand_units, found.offset) == (None, None, None)
    assert problem in found.problem


def test_an_answer_of_the_previous_release_without_a_schema_version_is_read(tmp_path: Path) -> None:
    unversioned = {name: said for name, said in ANSWER.items() if name != "schema"}
    rows = {"partitions": MAP["partitions"]}
    with answering(200, unversioned, []) as port:
        found = query_key(
            settings(tmp_path, **{"worker-1": {"port": port}}), "L|S", within_s=PATIENCE_S
        )
    with answering(200, rows, []) as port:
        mapped = partition_map(settings(tmp_path, **{"worker-1": {"port": port}}), PATIENCE_S)

    assert found.state == STATE
    assert mapped == PartitionMap(tuple(rows["partitions"]))


def test_query_key_reports_an_unreachable_and_a_hanging_worker(tmp_path: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # bound but not listening: no other process can take the port
        port = silent.getsockname()[1]
        found = query_key(
            settings(tmp_path, **{"worker-1": {"port": port}}), "L|S", within_s=PATIENCE_S
        )

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        known = settings(tmp_path, **{"worker-1": {"port": deaf.getsockname()[1]}})
        late = query_key(known, "L|S")

    assert found.problem == "the worker is unreachable"
    assert late.problem == "the worker did not answer in time"


class Hurried(httpx.Client):
    """Client that waits 0.1 s for the port `hangs`, and records the timeouts of its callers."""

    def __init__(self, hangs: int) -> None:
        super().__init__(trust_env=False)
        self.hangs = f"http://127.0.0.1:{hangs}/"
        self.allowed_s: list[float] = []

    @override
    def get(self, url: Any, *, timeout: Any = None, **options: Any) -> httpx.Response:
        self.allowed_s.append(timeout)
        given = 0.1 if url.startswith(self.hangs) else timeout
        return super().get(url, timeout=given, **options)


def test_an_invalid_worker_url_is_reported_as_an_unreachable_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INVENTORY_WORKER_URLS", "http://worker-1:port, http://[::1")

    assert query_key(settings(tmp_path), "L|A").problem == "the worker is unreachable"
    assert partition_map(settings(tmp_path)).problem == "the worker is unreachable"


def test_query_key_prefers_the_worker_that_answered_after_another_one_hung(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = ANSWER
    asked: list[str] = []
    with (
        socket.create_server(("127.0.0.1", 0)) as deaf,
        answering(200, body, asked) as living,
    ):
        hangs = deaf.getsockname()[1]
        known = settings(tmp_path, **{"worker-1": {"port": hangs}, "worker-2": {"port": living}})
        client = Hurried(hangs)
        monkeypatch.setattr(workers, "_client", lambda: client)

        first = query_key(known, STATE.inv_key, within_s=PATIENCE_S)
        deaf.settimeout(30)
        deaf.accept()[0].close()
        second = query_key(known, STATE.inv_key, within_s=PATIENCE_S)
        deaf.settimeout(0)
        with pytest.raises(BlockingIOError):
            deaf.accept()

    assert first.state == second.state == STATE
    assert len(asked) == 2
    assert max(client.allowed_s) <= PATIENCE_S * 2 / 3
    client.close()


def test_without_a_query_token_no_worker_is_queried(tmp_path: Path) -> None:
    asked: list[str] = []
    with answering(200, {}, asked) as port:
        known = settings(tmp_path, **{"worker-1": {"port": port}})
        tokenless = known.model_copy(update={"query_token": SecretStr("")})
        problems = {query_key(tokenless, "L|S").problem, partition_map(tokenless).problem}

    assert (problems, asked) == ({"INVENTORY_QUERY_TOKEN is not set, so no worker was queried"}, [])


def test_addresses_come_from_the_variable_or_from_the_running_stack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = settings(tmp_path, **{"worker-1": {"port": 1}, "worker-2": {}, "web": {"port": 2}})
    assert worker_urls(known) == {"worker-1": "http://127.0.0.1:1"}
    assert worker_urls(Connections(home=tmp_path / "none")) == {}
    monkeypatch.setenv("INVENTORY_WORKER_URLS", "http://a:1/, http://b:2")

    assert worker_urls(known) == {"a:1": "http://a:1", "b:2": "http://b:2"}


MAP: dict[str, Any] = {
    "schema": 1,
    "partitions": [{"partition": 0, "worker": "worker-1", "state": "RUNNING"}],
}


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (200, MAP, ""),
        (200, MAP | {"schema": 2}, "answer_partitions record: schema 2 is unknown here; known: 1"),
        (401, {}, "a worker answered with status 401"),
        (200, "<html>", "a worker's answer can't be read"),
        (200, {"schema": 1}, "a worker's answer can't be read"),
    ],
)
def test_partition_map_returns_the_map_of_a_worker_or_a_problem(
    tmp_path: Path, status: int, body: dict[str, Any] | str, problem: str
) -> None:
    asked: list[str] = []
    with answering(status, body, asked) as port:
        known = settings(tmp_path, **{"worker-1": {"port": port}})
        found = partition_map(known, within_s=PATIENCE_S)

    assert asked == ["Bearer token /iq/v1/partitions"]
    assert found == PartitionMap(() if problem else tuple(MAP["partitions"]), problem)


def test_the_map_comes_from_the_next_worker_when_one_is_gone(tmp_path: Path) -> None:
    with socket.socket() as silent, answering(200, MAP, []) as living:
        silent.bind(("127.0.0.1", 0))
        gone = silent.getsockname()[1]
        known = settings(tmp_path, **{"worker-1": {"port": gone}, "worker-2": {"port": living}})
        found = partition_map(known, within_s=PATIENCE_S)

    assert found.rows == tuple(MAP["partitions"])
    assert partition_map(settings(tmp_path)).problem == "no worker is known"


def test_partition_map_tries_the_next_worker_if_one_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf, answering(200, MAP, []) as living:
        hangs = deaf.getsockname()[1]
        known = settings(tmp_path, **{"worker-1": {"port": hangs}, "worker-2": {"port": living}})
        client = Hurried(hangs)
        monkeypatch.setattr(workers, "_client", lambda: client)

        found = partition_map(known, within_s=PATIENCE_S)

    assert found.rows == tuple(MAP["partitions"])
    assert max(client.allowed_s) <= PATIENCE_S * 2 / 3
    client.close()
