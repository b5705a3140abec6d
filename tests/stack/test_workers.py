"""Two real workers: shared partitions, garbage, kill -9, and a fenced worker that resumes."""

import asyncio
import os
import signal
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import httpx
import psycopg
import pytest
from confluent_kafka import Producer

from cdc.capture.admin import admin_client, create_topics, topic_drift
from cdc.contracts.topics import LARGEST_RECORD_BYTES, ON_HAND_CHANGELOG, TOPICS, Topic
from deploy.stack import service_commands
from streams.engine.kafka_log import KafkaLog
from streams.engine.records import Send
from streams.engine.transactions import PartitionProducers
from tests.stack.running import RunningStack
from tests.streams import facts

WORKERS = ("worker-1", "worker-2")
INSERT = """
INSERT INTO retail.sale_line
    (inv_key, location, sku, source, source_ref, quantity_units, amount_minor, occurred_at)
SELECT 'WRK|K' || n %% %(keys)s, 'WRK', 'K' || n %% %(keys)s, 'test', %(run)s || '-' || n, 2, 250,
       clock_timestamp()
FROM generate_series(1, %(lines)s) AS n
"""


def sell(stack: RunningStack, *, run: str, lines: int, keys: int = 50) -> None:
    """Commit `lines` sales of two units in batches of 500."""
    url = stack.settings.database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        for batch in range(0, lines, 500):
            values = {"keys": keys, "run": f"{run}-{batch}", "lines": min(500, lines - batch)}
            connection.execute(INSERT, values)


def totals(stack: RunningStack) -> tuple[int, int, int]:
    """Return (units, lines, revenue) of the location in the read model, including late sales."""
    url = stack.settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT coalesce(sum(sold_units), 0), coalesce(sum(sale_lines), 0),"
            " coalesce(sum(revenue_minor), 0) FROM read_model.sales_window"
            " WHERE inv_key LIKE 'WRK|%'"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1]), int(row[2])


def written(stack: RunningStack) -> tuple[int, int, int]:
    """Return (units, lines, revenue) of the location's sales, as sums over the facts."""
    url = stack.settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(
            "SELECT coalesce(sum(quantity_units), 0), count(*), coalesce(sum(amount_minor), 0)"
            " FROM retail.sale_line WHERE location = 'WRK'"
        ).fetchone()
    assert row is not None
    return int(row[0]), int(row[1]), int(row[2])


def get(stack: RunningStack, worker: str, path: str, *, token: str | None = None) -> httpx.Response:
    """Return one worker's answer to a request with the stack's token, unless another is given."""
    url = stack.runtime.services[worker].url
    secret = stack.settings.query_token.get_secret_value() if token is None else token
    return httpx.get(f"{url}{path}", headers={"Authorization": f"Bearer {secret}"}, timeout=30)


def held(stack: RunningStack, worker: str) -> list[int]:
    """Return the partitions that are ready at a worker, or none if it doesn't answer."""
    try:
        answer = get(stack, worker, "/iq/v1/partitions?scope=worker").json()
    except httpx.HTTPError:
        return []
    return [row["partition"] for row in answer["partitions"] if row["state"] == "RUNNING"]


def shared(stack: RunningStack) -> bool:
    """Return True if each partition is ready at exactly one worker and both workers have some."""
    parts = [held(stack, worker) for worker in WORKERS]
    return all(parts) and sorted(parts[0] + parts[1]) == list(range(12))


def wait_for_equal_sums(stack: RunningStack) -> None:
    stack.wait_until(
        lambda: totals(stack) == written(stack),
        lambda: f"read model {totals(stack)}, facts {written(stack)}",
    )


def test_two_workers_share_the_partitions_and_answer_for_any_key(stack: RunningStack) -> None:
    stack.wait_until(lambda: shared(stack))
    sell(stack, run="share", lines=100)
    wait_for_equal_sums(stack)

    def answered() -> list[dict[str, Any]] | None:
        """Return both workers' answers, or None if one of them fails.

        A worker asks the owner of the key, which may be too busy to answer in time.
        """
        path = f"/iq/v1/store/on-hand/{quote('WRK|K1')}"
        answers = [get(stack, worker, path) for worker in WORKERS]
        return [one.json() for one in answers] if all(one.is_success for one in answers) else None

    first, second = stack.wait_until(answered) or ({}, {})
    assert first["worker"] == second["worker"]
    assert first["state"] == "RUNNING"
    assert first["on_hand_units"] == second["on_hand_units"] < 0
    assert first["position"] == second["position"]
    assert first["position"]["partition"] == first["partition"]
    assert get(stack, WORKERS[0], "/iq/v1/partitions", token="wrong").status_code == 401  # noqa: S106 -- the wrong one
    assert get(stack, WORKERS[0], "/metrics", token="none").status_code == 200  # noqa: S106 -- none is needed


def test_garbage_is_rejected_with_its_bytes_and_changes_nothing(stack: RunningStack) -> None:
    wait_for_equal_sums(stack)
    before = totals(stack)
    key, image = "WRK|K1", facts.sale(id_=1 << 40, key="WRK|K1", at_us=facts.DAY_0_US)
    now_us = 2_000_000_000_000_000
    sale = facts.change("sale_line", lsn=1 << 50, commit_us=now_us, after=image)
    snapshot = facts.change("sale_line", op="r", lsn=1 << 50, commit_us=now_us, after=image)
    bad: Sequence[tuple[str, bytes, str]] = (
        (key, b"\x00\xffgarbage", "malformed"),
        (key, sale[:-30], "malformed"),
        ("WRK|OTHER", sale.replace(b"2000000000000000", b"1"), "key_mismatch"),
        (key, snapshot.replace(b"2000000000000000", b"1"), "snapshot_after_start"),
    )
    producer = Producer(
        {"bootstrap.servers": stack.settings.kafka_bootstrap, "partitioner": "murmur2_random"}
    )

    for message_key, value, _ in bad:
        producer.produce("stock.events", value, message_key.encode())
    assert producer.flush(30) == 0

    url = stack.settings.read_database_url.get_secret_value()

    def rejected() -> list[tuple[str, bytes, str]]:
        with psycopg.connect(url, autocommit=True) as connection:
            rows = connection.execute(
                "SELECT convert_from(key, 'UTF8'), value, reason FROM read_model.rejected"
                " WHERE convert_from(key, 'UTF8') LIKE 'WRK|%'"
            ).fetchall()
        return sorted((str(k), bytes(v), str(r)) for k, v, r in rows)

    stack.wait_until(lambda: len(rejected()) >= 4, describe=rejected)
    assert rejected() == sorted(bad)
    assert totals(stack) == before


@pytest.mark.parametrize("worker", WORKERS)
def test_a_killed_worker_loses_and_doubles_nothing(stack: RunningStack, worker: str) -> None:
    stack.wait_until(lambda: shared(stack))
    service = stack.runtime.services[worker]
    assert service.pid is not None

    sell(stack, run=f"kill-{worker}-a", lines=2_000)
    os.kill(service.pid, signal.SIGKILL)
    sell(stack, run=f"kill-{worker}-b", lines=2_000)

    wait_for_equal_sums(stack)
    stack.wait_until(lambda: stack.runtime.services[worker].restarts > service.restarts)


def test_a_worker_suspended_past_its_session_is_fenced(stack: RunningStack) -> None:
    stack.wait_until(lambda: shared(stack))
    service = stack.runtime.services["worker-2"]
    assert service.pid is not None

    service_commands.hold(stack.home, "worker-2")
    os.kill(service.pid, signal.SIGSTOP)
    try:
        sell(stack, run="zombie-a", lines=1_000)
        stack.wait_until(lambda: len(held(stack, "worker-1")) == 12)
        wait_for_equal_sums(stack)
    finally:
        os.kill(service.pid, signal.SIGCONT)
        service_commands.hold(stack.home, "worker-2", release=True)
    sell(stack, run="zombie-b", lines=1_000)

    wait_for_equal_sums(stack)
    stack.wait_until(lambda: shared(stack), describe=lambda: stack.runtime.services)


def test_a_level_record_of_eight_megabytes_is_acknowledged(stack: RunningStack) -> None:
    bootstrap = stack.settings.kafka_bootstrap
    name = f"test-large-{os.urandom(4).hex()}"
    levels = next(topic for topic in TOPICS if topic.name == ON_HAND_CHANGELOG)
    create_topics(bootstrap, [replace(levels, name=name, partitions=1)])
    value = os.urandom(8_000_000)

    async def write_and_read() -> list[bytes | None]:
        producers = PartitionProducers(bootstrap, name)
        await producers.own([0])
        await producers.acknowledged(0, [[Send(name, b"L|S", value)]])
        await producers.close()
        async with KafkaLog(bootstrap) as log:
            _, end = await log.bounds(name, 0)
            return [r.value async for batch in log.read(name, 0, 0, end) for r in batch]

    assert asyncio.run(write_and_read()) == [value]


def test_a_topic_recreated_has_another_id(stack: RunningStack) -> None:
    bootstrap = stack.settings.kafka_bootstrap
    topic = Topic(f"test-recreated-{os.urandom(4).hex()}", partitions=1, config={})

    def create() -> bool:
        """Return True if the topic was created. For a while after a deletion this fails.

        The broker confirms a deletion before it is complete.
        """
        return topic.name in create_topics(bootstrap, [topic])

    async def identity() -> str:
        async with KafkaLog(bootstrap) as log:
            return (await log.topic_ids([topic.name]))[topic.name]

    create()
    before, again = asyncio.run(identity()), asyncio.run(identity())
    admin = admin_client(bootstrap)
    admin.delete_topics([topic.name])[topic.name].result(30)
    stack.wait_until(create)

    assert before == again != asyncio.run(identity())


def test_a_topic_of_an_earlier_release_gets_the_settings_of_this_one(stack: RunningStack) -> None:
    bootstrap = stack.settings.kafka_bootstrap
    name = f"test-old-{os.urandom(4).hex()}"
    create_topics(bootstrap, [Topic(name, partitions=1, config={"max.message.bytes": "1048588"})])
    wanted = Topic(name, partitions=1, config={"max.message.bytes": str(LARGEST_RECORD_BYTES)})
    assert topic_drift(bootstrap, [wanted])

    assert create_topics(bootstrap, [wanted]) == ()

    assert topic_drift(bootstrap, [wanted]) == ()
