"""An operator replays a record that was older than the dedupe ring. It counts once."""

import json
import time
from typing import Any

import psycopg
from confluent_kafka import Producer

from cdc.contracts.partition import partition_of
from cdc.contracts.topics import STOCK_EVENTS
from tests.stack.running import RunningStack
from tests.streams import facts

KEY = "LOST|SHELF"
MINUTE_US = 60_000_000


def send(stack: RunningStack, value: bytes) -> None:
    producer = Producer({"bootstrap.servers": stack.settings.kafka_bootstrap})
    producer.produce(STOCK_EVENTS, value, KEY.encode(), partition_of(KEY.encode()))
    assert producer.flush(30) == 0


def ask(stack: RunningStack, statement: str, *values: object) -> list[tuple[Any, ...]]:
    url = stack.settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement, values).fetchall()


def on_hand(stack: RunningStack) -> int | None:
    found = ask(stack, "SELECT on_hand_units FROM read_model.stock WHERE inv_key = %s", KEY)
    return int(found[0][0]) if found else None


def waiting(stack: RunningStack) -> list[tuple[Any, ...]]:
    return ask(
        stack,
        "SELECT r.id, r.reason FROM read_model.rejected r"
        " WHERE app.key_text(r.key) = %s AND NOT EXISTS ("
        "SELECT FROM app.rejected_mark m WHERE m.record_id = r.id)",
        KEY,
    )


def adjustment(id_: int, units: int) -> dict[str, Any]:
    at_us = time.time_ns() // 1000 - MINUTE_US
    return facts.row(
        id_=id_,
        key=KEY,
        at_us=at_us,
        reason="found",
        quantity_units=units,
        occurred_at=facts.iso(at_us),
    )


def test_a_replayed_rejected_record_counts_once(stack: RunningStack) -> None:
    now_us = time.time_ns() // 1000
    first, lost = adjustment(1 << 40, 3), adjustment((1 << 40) + 1, 5)
    ((high,),) = ask(stack, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")
    send(stack, facts.change("stock_adjustment", after=first, lsn=high, commit_us=now_us))
    stack.wait_until(lambda: on_hand(stack) == 3, describe=lambda: on_hand(stack))
    late_us = now_us - 10 * MINUTE_US
    send(stack, facts.change("stock_adjustment", after=lost, lsn=high - 1, commit_us=late_us))
    stack.wait_until(lambda: waiting(stack))
    ((record, reason),) = waiting(stack)
    assert reason == "before_dedupe_horizon"

    shown = stack.cli("rejected", "replay", record, "--reason", "lost", "--json")

    assert shown.returncode == 1
    look = json.loads(shown.stdout)[0]
    assert look["row"].endswith("no longer exists")
    assert on_hand(stack) == 3

    sent = stack.cli("rejected", "replay", record, "--reason", "lost", "--yes")
    assert sent.returncode == 0, sent.stderr
    stack.wait_until(lambda: on_hand(stack) == 8, describe=lambda: on_hand(stack))
    assert waiting(stack) == []
    again = stack.cli("rejected", "replay", record, "--reason", "lost", "--yes")
    assert again.returncode == 1
    assert "needs no decision any more: replayed by" in again.stderr

    # Postgres never had these rows. Delete them in the log, so that later comparisons find no
    # difference.
    for row in (first, lost):
        gone_us = time.time_ns() // 1000
        send(
            stack,
            facts.change("stock_adjustment", op="d", before=row, lsn=high, commit_us=gone_us),
        )
    stack.wait_until(lambda: on_hand(stack) == 0, describe=lambda: on_hand(stack))
