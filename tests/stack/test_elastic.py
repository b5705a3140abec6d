"""Workers join and leave under load: each one answers, and no fact is lost or counted twice."""

import asyncio
import json
import os
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
from aiokafka import AIOKafkaConsumer
from confluent_kafka.admin import AdminClient
from prometheus_client.parser import text_string_to_metric_families

from cdc.contracts import answers
from cdc.contracts.partition import partition_of
from cdc.contracts.topics import STOCK_EVENTS
from cdc.workers import query_key
from deploy.stack import service_commands
from deploy.stack.membership import leave
from streams.settings import WorkerSettings
from tests.cdc.contract import complaints
from tests.stack.running import RunningStack
from tests.stack.test_workers import get, held, shared

INSERT = """
INSERT INTO retail.sale_line
    (inv_key, location, sku, source, source_ref, quantity_units, amount_minor, occurred_at)
SELECT l.code || '|K' || n, l.code, 'K' || n, 'test', %(run)s || '-' || n, 1, 250, clock_timestamp()
FROM generate_series(1, 40) AS n, (SELECT %(location)s::text AS code) AS l
"""
LOCATION = f"ELA-{uuid.uuid4().hex[:6].upper()}"
KEYS = tuple(f"{LOCATION}|K{number}" for number in range(1, 41))


def sell(stack: RunningStack, run: str) -> None:
    """Sell one unit of each key in one transaction."""
    url = stack.settings.database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(INSERT, {"run": run, "location": LOCATION})


@contextmanager
def selling(stack: RunningStack) -> Iterator[list[str]]:
    """Sell continuously in a thread. Yield the list of runs, which grows with each sale."""
    stopped, runs = threading.Event(), [f"r{uuid.uuid4().hex[:8]}"]

    def go_on() -> None:
        while not stopped.wait(0.05):
            sell(stack, runs[-1])
            runs.append(f"r{uuid.uuid4().hex[:8]}")

    sell(stack, f"r{uuid.uuid4().hex[:8]}")
    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield runs
    finally:
        stopped.set()
        thread.join(30)


def sold(stack: RunningStack, key: str) -> int:
    """Return the sold units of the key in the facts."""
    url = stack.settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT coalesce(sum(quantity_units), 0)::int FROM retail.sale_line WHERE inv_key = %s",
            (key,),
        ).fetchone()
    assert row is not None
    return int(row[0])


def answer_of(stack: RunningStack, worker: str, key: str) -> httpx.Response | None:
    try:
        return get(stack, worker, f"/iq/v1/store/on-hand/{quote(key)}")
    except httpx.HTTPError:
        return None


def on_hand(stack: RunningStack, worker: str, key: str) -> int | None:
    """Return on-hand from this worker, or None if it gives no number."""
    answer = answer_of(stack, worker, key)
    return answer.json()["on_hand_units"] if answer is not None and answer.is_success else None


def key_of_the_second(stack: RunningStack) -> str:
    """Return a key that worker-2 owns."""

    def find() -> str | None:
        numbers = held(stack, "worker-2")
        return next((key for key in KEYS if partition_of(key.encode()) in numbers), None)

    return str(stack.wait_until(find))


def settled(stack: RunningStack, worker: str = "worker-1") -> None:
    """Wait until this worker's stock of every key equals the facts."""
    for key in KEYS:

        def is_equal(key: str = key) -> bool:
            return on_hand(stack, worker, key) == -sold(stack, key)

        stack.wait_until(is_equal)


def assert_nothing_differs(stack: RunningStack) -> None:
    settled(stack)
    result = stack.cli("verify", "--location", LOCATION, "--json")
    assert result.returncode == 0, result.stdout + result.stderr


def test_any_worker_answers_for_any_key_and_lists_all_partitions(stack: RunningStack) -> None:
    stack.wait_until(lambda: shared(stack))
    sell(stack, f"r{uuid.uuid4().hex[:8]}")
    settled(stack)

    addresses = {name: stack.runtime.services[name].url for name in ("worker-1", "worker-2")}

    def whole_map(worker: str) -> list[dict[str, Any]] | None:
        """Return the worker's list of partitions, or None while one of them isn't running."""
        rows: list[dict[str, Any]] = get(stack, worker, "/iq/v1/partitions").json()["partitions"]
        return rows if {row["state"] for row in rows} == {"RUNNING"} else None

    for worker in addresses:
        settled(stack, worker)
        rows = stack.wait_until(partial(whole_map, worker)) or []
        assert [row["partition"] for row in rows] == list(range(12))
        assert {row["worker"]: row["address"] for row in rows} == addresses
    units = sold(stack, KEYS[0])
    said = stack.cli("query", KEYS[0], "--windows", "--wait", "60", "--json")
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["on_hand_units"] == -units
    assert sum(row["sold_units"] for row in json.loads(said.stdout)["windows"]) == units


def test_answers_of_running_workers_fit_their_schemas(stack: RunningStack) -> None:
    stack.wait_until(lambda: shared(stack))
    sell(stack, f"r{uuid.uuid4().hex[:8]}")
    settled(stack)
    place = quote(KEYS[0], safe="")

    for address, kind in answers.ADDRESSES.items():
        for worker in ("worker-1", "worker-2"):
            answer = get(stack, worker, address.replace("{key}", place))

            assert answer.status_code == 200, f"{worker} {address}: {answer.text}"
            assert complaints(kind, answer.content) == []
    refused = get(stack, "worker-1", "/iq/v1/keys/nokey")
    assert refused.status_code == 400
    assert complaints(answers.PROBLEM, refused.content) == []


def test_after_kill_9_of_its_owner_a_key_is_unavailable_and_then_correct(
    stack: RunningStack,
) -> None:
    stack.wait_until(lambda: shared(stack))
    key = key_of_the_second(stack)
    before = stack.runtime.services["worker-2"]
    assert before.pid is not None

    os.kill(before.pid, signal.SIGKILL)
    sell(stack, f"r{uuid.uuid4().hex[:8]}")
    wanted = -sold(stack, key)
    first = answer_of(stack, "worker-1", key)
    live = query_key(stack.settings, key)

    # The answer is an error, or the correct number if the worker has restarted already.
    assert first is not None
    assert first.status_code in {200, 503}
    assert first.status_code == 200 or first.headers["Retry-After"] == "1"
    assert live.state is not None or live.problem
    stack.wait_until(lambda: on_hand(stack, "worker-1", key) == wanted)
    stack.wait_until(lambda: on_hand(stack, "worker-2", key) == wanted)
    assert stack.runtime.services["worker-2"].restarts > before.restarts


def test_a_resumed_worker_returns_no_outdated_stock(stack: RunningStack) -> None:
    stack.wait_until(lambda: shared(stack))
    key = key_of_the_second(stack)
    pid = stack.runtime.services["worker-2"].pid
    assert pid is not None

    service_commands.hold(stack.home, "worker-2")
    os.kill(pid, signal.SIGSTOP)
    try:
        stack.wait_until(lambda: len(held(stack, "worker-1")) == 12)
        sell(stack, f"r{uuid.uuid4().hex[:8]}")
        wanted = -sold(stack, key)
        stack.wait_until(lambda: on_hand(stack, "worker-1", key) == wanted)
    finally:
        os.kill(pid, signal.SIGCONT)
        service_commands.hold(stack.home, "worker-2", release=True)

    seen = {on_hand(stack, "worker-2", key) for _ in range(20)}
    stack.wait_until(lambda: shared(stack))
    assert seen <= {None, wanted}


def test_scaling_to_three_and_back_under_load_loses_nothing(stack: RunningStack) -> None:
    stack.wait_until(lambda: shared(stack))
    kept = {name: stack.runtime.services[name].pid for name in ("worker-1", "worker-2")}

    def three_shares() -> dict[str, list[int]]:
        """Return partitions by worker once each of three workers has four of the twelve."""
        if any(len(held(stack, f"worker-{number}")) != 4 for number in (1, 2, 3)):
            return {}  # first ask by HTTP, because the command below takes much longer
        rows = json.loads(stack.cli("workers", "--json").stdout)
        shares = {row["worker"]: row["partitions"] for row in rows}
        return shares if [len(share) for share in shares.values()] == [4, 4, 4] else {}

    with selling(stack) as runs:
        more = stack.cli("workers", "scale", "3")
        three = stack.wait_until(three_shares)
        sold_at_three = len(runs)
        stack.wait_until(lambda: len(runs) > sold_at_three + 5)
        fewer = stack.cli("workers", "scale", "2")

    assert more.returncode == fewer.returncode == 0, more.stderr + fewer.stderr
    assert list(three) == ["worker-1", "worker-2", "worker-3"]
    assert sorted(number for share in three.values() for number in share) == list(range(12))
    names = {name for name in stack.runtime.services if name.startswith("worker-")}
    assert names == {"worker-1", "worker-2"}
    assert {name: stack.runtime.services[name].pid for name in kept} == kept
    # The worker leaves the group itself. The supervisor would remove an ended worker much later.
    assert '"group left"' in stack.home.log_of("worker-3").read_text(encoding="utf-8")
    assert_nothing_differs(stack)


@pytest.mark.soak  # tests/deploy/test_workers_command.py does it without a broker
def test_a_stopped_worker_leaves_its_group_at_once_until_it_is_started(
    stack: RunningStack,
) -> None:
    stack.wait_until(lambda: shared(stack))
    crashes = stack.runtime.services["worker-2"].restarts

    with selling(stack) as runs:
        stopped = stack.cli("workers", "stop", "worker-2")
        alone = held(stack, "worker-1")
        sold_alone = len(runs)
        stack.wait_until(lambda: len(runs) > sold_alone + 5)
        rows = {row["worker"]: row for row in json.loads(stack.cli("workers", "--json").stdout)}
        refused = stack.cli("workers", "stop", "worker-1")
        started = stack.cli("workers", "start", "worker-2")

    assert stopped.returncode == started.returncode == 0, stopped.stderr + started.stderr
    assert sorted(alone) == list(range(12))
    assert (rows["worker-2"]["state"], rows["worker-2"]["pid"]) == ("paused", None)
    assert refused.returncode == 1
    assert "only worker that runs" in refused.stderr
    assert stack.runtime.services["worker-2"].restarts == crashes
    stack.wait_until(lambda: shared(stack))
    assert_nothing_differs(stack)


@pytest.mark.soak  # scaling down and up hands partitions over, too
def test_a_rolling_restart_under_load_loses_nothing(stack: RunningStack) -> None:
    stack.wait_until(lambda: shared(stack))
    before = {name: stack.runtime.services[name] for name in ("worker-1", "worker-2")}
    parts = {name: held(stack, name) for name in before}

    with selling(stack):
        result = stack.cli("workers", "restart", "--rolling")

    assert result.returncode == 0, result.stdout + result.stderr
    assert [line.split()[0] for line in result.stdout.splitlines()] == ["worker-1", "worker-2"]
    for name, was in before.items():
        now = stack.runtime.services[name]
        assert now.pid != was.pid
        assert now.asked_restarts == was.asked_restarts + 1
        assert now.restarts == was.restarts
    # Static members keep their partitions if they restart within their session. On a busy machine
    # a restart may take longer, and then the group rebalances.
    took_s = [float(line.split()[-2]) for line in result.stdout.splitlines()]
    if max(took_s) < WorkerSettings().session_timeout_s:
        assert {name: held(stack, name) for name in before} == parts
    assert_nothing_differs(stack)


def test_a_worker_shows_its_metrics(stack: RunningStack) -> None:
    stack.wait_until(lambda: shared(stack))

    def figures() -> dict[str, list[float]]:
        text = get(stack, "worker-1", "/metrics", token="none").text  # noqa: S106 -- none is needed
        return {
            family.name: [sample.value for sample in family.samples]
            for family in text_string_to_metric_families(text)
        }

    def alive() -> dict[str, list[float]]:
        """Return a worker's metrics once it is ready and each partition has a recent heartbeat."""
        seen = figures()
        ages = seen["inventory_heartbeat_age_seconds"]
        has_heard = len(ages) == len(held(stack, "worker-1")) and max(ages) < 60
        return seen if has_heard and seen["inventory_ready"] == [1.0] else {}

    seen = stack.wait_until(alive, describe=figures)
    assert seen["inventory_transactions"][0] > 0
    assert seen["process_resident_memory_bytes"][0] > 1 << 24


def test_leave_removes_a_static_member_from_its_group_at_once(stack: RunningStack) -> None:
    bootstrap = stack.settings.kafka_bootstrap
    group = f"test-leave-{uuid.uuid4().hex[:6]}"

    async def join_and_stop() -> None:
        consumer = AIOKafkaConsumer(
            STOCK_EVENTS,
            bootstrap_servers=bootstrap,
            group_id=group,
            group_instance_id="worker-9",
            session_timeout_ms=120_000,  # longer than this test, so the broker doesn't end it
        )
        await consumer.start()
        await consumer.stop()

    def members() -> set[str]:
        admin = AdminClient({"bootstrap.servers": bootstrap})
        described = admin.describe_consumer_groups([group])[group].result(timeout=60)
        return {member.group_instance_id for member in described.members}

    asyncio.run(join_and_stop())
    assert members() == {"worker-9"}

    assert leave(bootstrap, "worker-9", group)

    assert members() == set()
    assert not leave(bootstrap, "worker-9", group)
    assert not leave("127.0.0.1:9", "worker-9", group)
