"""Output of `inventory workers` and `inventory query`, answered by real workers."""

import asyncio
import json
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from aiohttp.typedefs import Handler, Middleware
from rich.console import Console
from typer.testing import CliRunner

from deploy import output
from deploy.cli.main import app, main
from deploy.errors import StackError
from deploy.stack import service_commands
from deploy.stack.home import Home, write_json
from deploy.stack.processes import identify, wait_until
from deploy.stack.requested import RequestedState, read_requested, write_requested
from deploy.stack.runtime import Runtime, ServiceRuntime, write_environment, write_runtime
from streams.engine.memory import MemoryBroker
from streams.query.peers import MAP_TIMEOUT_S
from streams.query.server import QueryServer
from tests.streams.served import KEYS, STOCKED, TOKEN, Worker, halves, partition, stocked

pytestmark = pytest.mark.engines

EVEN, ODD = (next(key for key in KEYS if partition(key) % 2 == rest) for rest in (0, 1))

# If a worker's request to another one times out, the command asks again for up to 60 s.
PATIENTLY = ("--wait", "60")


Share = Callable[[MemoryBroker], Awaitable[tuple[Worker, Worker]]]


@web.middleware
async def busy(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer later than other workers wait, as a worker in the middle of a chunk does."""
    await asyncio.sleep(2 * MAP_TIMEOUT_S)
    return await handler(request)


@contextmanager
def served(home: Home, *middlewares: Middleware, share: Share = halves) -> Iterator[Runtime]:
    """Start two workers that share the partitions, and a home with their addresses."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    async def begin() -> list[TestServer]:
        servers = [TestServer(QueryServer(w).application()) for w in await share(stocked())]
        for server in servers:
            server.app.middlewares.extend(middlewares)
            await server.start_server()
        return servers

    async def close() -> None:
        for server in servers:
            await server.close()

    servers = asyncio.run_coroutine_threadsafe(begin(), loop).result(120)
    me = identify(os.getpid())
    runtime = Runtime(phase="ready", supervisor_pid=me.pid, supervisor_ticks=me.started)
    for number, server in enumerate(servers, 1):
        url = str(server.make_url("/")).rstrip("/")
        entry = ServiceRuntime(state="running", pid=number, port=urlsplit(url).port, url=url)
        runtime.services[f"worker-{number}"] = entry
    write_environment(home, {"INVENTORY_QUERY_TOKEN": TOKEN})
    write_runtime(home, runtime)
    try:
        yield runtime
    finally:
        asyncio.run_coroutine_threadsafe(close(), loop).result(120)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(60)
        loop.close()


@pytest.fixture
def runtime(tmp_path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runtime]:
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    monkeypatch.setenv("INVENTORY_WORKER_URLS", "")
    # The console's width is that of the terminal in which the tests run. Set a fixed one.
    monkeypatch.setattr(output, "console", Console(width=200))
    with served(Home(tmp_path)) as found:
        yield found


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, result.stdout or str(result.exception)


@pytest.mark.usefixtures("runtime")
def test_the_workers_command_lists_the_partitions_of_each_worker() -> None:
    code, text = run("workers", "--json")

    assert code == 0, text
    first, second = json.loads(text)
    assert (first["worker"], second["worker"]) == ("worker-1", "worker-2")
    assert first["partitions"] == list(range(0, 12, 2))
    assert second["partitions"] == list(range(1, 12, 2))
    assert first["running"] == second["running"] == 6
    assert first["keys"] + second["keys"] == len(KEYS)
    assert "0, 2, 4, 6, 8, 10" in run("workers")[1]


@pytest.mark.usefixtures("runtime")
def test_a_terminal_of_80_columns_shows_a_worker_in_a_line(monkeypatch) -> None:
    monkeypatch.setattr(output, "console", Console(width=80))

    code, text = run("workers")

    assert code == 0, text
    head, *rows = text.splitlines()
    assert head.split() == ["worker", "state", "crashed", "partitions", "lag", "age"]
    assert [row.split()[0] for row in rows] == ["worker-1", "worker-2"]


def test_a_busy_worker_is_not_shown_as_one_that_holds_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    monkeypatch.setenv("INVENTORY_WORKER_URLS", "")
    with served(Home(tmp_path), busy):
        code, text = run("workers", "--json")

    assert code == 0, text
    assert [len(row["partitions"]) for row in json.loads(text)] == [6, 6]


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("key", [EVEN, ODD])
def test_query_prints_a_key_of_any_worker_with_its_windows(key: str) -> None:
    code, text = run("query", key, "--windows", *PATIENTLY, "--json")

    assert code == 0, text
    assert json.loads(text)["on_hand_units"] == STOCKED - 3
    assert [row["sold_units"] for row in json.loads(text)["windows"]] == [3]
    assert (
        json.loads(run("query", key, "--windows", "--to", "0", *PATIENTLY, "--json")[1])["windows"]
        == []
    )
    shown = run("query", key, "--windows", *PATIENTLY)[1]
    assert f"on hand            {STOCKED - 3}" in shown
    assert "behind             0 records, 0.0 s" in shown
    assert "sales windows" in shown


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize(
    ("key", "problem"), [("bad", "expected LOCATION|SKU"), ("S9|NONE", "no fact of S9|NONE")]
)
def test_query_of_a_malformed_or_unknown_key_is_an_error(key: str, problem: str) -> None:
    code, text = run("query", key, *PATIENTLY)

    assert (code, problem in text) == (1, True), text


def test_query_waits_for_an_unserved_partition_and_reports_it(runtime: Runtime, tmp_path) -> None:
    del runtime.services["worker-2"]
    write_runtime(Home(tmp_path), runtime)

    code, text = run("query", ODD, "--wait", "0.3")

    assert code == 1
    assert f"partition {partition(ODD)} is UNKNOWN; retried for 0.3 s" in text


def test_without_workers_nothing_answers(runtime: Runtime, tmp_path) -> None:
    runtime.services.clear()
    write_runtime(Home(tmp_path), runtime)

    assert "no worker answers" in run("query", ODD, "--wait", "0")[1]
    assert json.loads(run("workers", "--json")[1]) == []


def test_scale_writes_the_worker_count_and_waits_for_all_partitions(
    runtime: Runtime, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)

    assert run("workers", "scale", "2")[1].startswith("2 workers serve all partitions after")
    assert read_requested(home) == RequestedState(2)
    monkeypatch.setattr(service_commands, "_READY_S", 0.0)
    with pytest.raises(StackError, match="that serve all partitions"):
        service_commands.scale(home, 3)
    assert read_requested(home) == RequestedState(3)


def test_a_restart_is_over_when_the_worker_was_started_again(runtime: Runtime, tmp_path) -> None:
    home = Home(tmp_path)
    write_requested(home, RequestedState(2))

    def supervise() -> bool:
        wanted = read_requested(home)
        assert wanted is not None
        for name, times in wanted.restarts.items():
            runtime.services[name].asked_restarts = times
        write_runtime(home, runtime)
        return len(wanted.restarts) == 2

    thread = threading.Thread(target=wait_until, args=(supervise,), kwargs={"timeout_s": 120})
    thread.start()
    code, text = run("workers", "restart", "--rolling")
    thread.join(60)

    assert code == 0, text
    assert [line.split()[0] for line in text.splitlines()] == ["worker-1", "worker-2"]
    assert read_requested(home) == RequestedState(2, {"worker-1": 1, "worker-2": 1})


async def everybody(broker: MemoryBroker) -> tuple[Worker, Worker]:
    """Return two workers that both serve all partitions, so that no test needs a rebalance."""
    workers = Worker("worker-1", broker), Worker("worker-2", broker)
    for worker in workers:
        await worker.take(range(12))
        await worker.work()
    return workers


@contextmanager
def supervising(home: Home, runtime: Runtime) -> Iterator[None]:
    """Apply each pause that `wanted.json` requests, as the supervisor would."""
    done = threading.Event()

    def go_on() -> None:
        while not done.wait(0.02):
            wanted = read_requested(home)
            for name, service in runtime.services.items():
                is_paused = wanted is not None and name in wanted.paused
                service.state = "paused" if is_paused else "running"
            write_runtime(home, runtime)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join(60)


def test_a_stopped_worker_cannot_be_restarted_until_it_is_started(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    monkeypatch.setenv("INVENTORY_WORKER_URLS", "")
    with served(home, share=everybody) as runtime, supervising(home, runtime):
        assert run("workers", "stop", "worker-2")[1].startswith("worker-2 stopped; the others")
        assert read_requested(home) == RequestedState(2, paused=["worker-2"])
        assert "worker-2 is stopped" in run("workers", "restart", "worker-2")[1]
        assert "worker-1 is the only worker that runs" in run("workers", "stop", "worker-1")[1]
        assert run("workers", "stop", "worker-2")[0] == 0  # it is stopped already
        for verb in ("stop", "start"):
            assert "no worker 'worker-9'" in run("workers", verb, "worker-9")[1]
        assert run("workers", "start", "worker-2")[1].startswith(
            "worker-2 runs; workers serve all partitions"
        )
        assert read_requested(home) == RequestedState(2)
        run("workers", "stop", "worker-1")
        assert run("workers", "scale", "2")[1].startswith("2 workers serve all partitions")
        assert read_requested(home) == RequestedState(2)


def test_a_stopped_worker_remains_stopped_after_a_repeated_rebuild_pause(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Home(tmp_path)
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    monkeypatch.setenv("INVENTORY_WORKER_URLS", "")
    with served(home, share=everybody) as runtime, supervising(home, runtime):
        run("workers", "stop", "worker-2")
        for _ in range(2):
            assert service_commands.pause(home) == ("worker-1", "worker-2")

        assert service_commands.resume(home) == ("worker-2",)
        assert read_requested(home) == RequestedState(2, paused=["worker-2"])
        assert run("workers", "start", "worker-2")[0] == 0


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize("paused", [["projector", "worker-1"], ["worker-1", "worker-2"]])
def test_worker_commands_are_refused_after_an_interrupted_rebuild(
    tmp_path, paused: list[str]
) -> None:
    write_requested(Home(tmp_path), RequestedState(2, paused=paused))

    for command in (("start", "worker-1"), ("stop", "worker-2"), ("scale", "3")):
        code, text = run("workers", *command)

        assert (code, "a rebuild was interrupted" in text) == (1, True), text
    assert read_requested(Home(tmp_path)) == RequestedState(2, paused=paused)


@pytest.mark.usefixtures("runtime")
@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"workers": "two"}', '{"workers": 0}', '{"fleet": 2}']
)
def test_the_error_about_an_unreadable_wanted_file_names_the_file(tmp_path, content: str) -> None:
    file = tmp_path / "wanted.json"
    file.write_text(content)

    for command in (("scale", "2"), ("restart", "worker-1")):
        code, text = run("workers", *command)

        assert (code, f"{file}: expected the requested state" in text) == (1, True), text
    assert file.read_text() == content


@pytest.mark.usefixtures("runtime")
def test_restart_is_refused_without_a_known_worker_or_rolling() -> None:
    assert "expected the name of a worker, or --rolling" in run("workers", "restart")[1]
    assert (
        "expected the name of a worker, or --rolling"
        in run("workers", "restart", "w", "--rolling")[1]
    )
    assert "no worker 'worker-9'" in run("workers", "restart", "worker-9")[1]


def test_verify_without_a_stack_exits_with_2(
    tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    monkeypatch.delenv("INVENTORY_KAFKA_BOOTSTRAP", raising=False)
    monkeypatch.setattr(sys, "argv", ["inventory", "verify"])

    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code == 2
    assert "error: no stack runs" in capsys.readouterr().err


def test_worker_commands_without_a_stack_report_that_there_is_none(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INVENTORY_HOME", str(tmp_path))
    write_json(Home(tmp_path).path / "wanted.json", {"workers": 2, "restarts": {}})

    for arguments in (("workers",), ("workers", "scale", "3"), ("query", EVEN)):
        code, text = run(*arguments)

        assert code == 1
        assert "no stack" in text
