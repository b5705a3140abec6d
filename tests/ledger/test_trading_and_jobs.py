import os
import subprocess
import sys
import time
from importlib import import_module

import psycopg

from cdc.contracts.partition import partition_of
from ledger.automation import heartbeat as jobs
from tests.ledger.postgres import PROJECT, Server
from tests.ledger.rows import write
from tests.processes import end

DEADLINE_S = 120.0


def test_every_partition_has_a_heartbeat_key_of_its_own() -> None:
    numbers = jobs.heartbeat_numbers(12)

    assert numbers == (1, 18, 4, 9, 6, 5, 13, 22, 3, 0, 34, 2)
    assert [partition_of(f"~heartbeat|{n}".encode()) for n in numbers] == list(range(12))


def test_a_heartbeat_increments_every_partition_by_one(till: psycopg.Connection) -> None:
    keys = jobs.create_heartbeats(till, 12)
    assert jobs.create_heartbeats(till, 12) == keys

    jobs.beat(till, keys)
    jobs.beat(till, keys)

    found = till.execute("SELECT beat FROM retail.pipeline_heartbeat").fetchall()
    assert found == [(2,)] * 12


def test_live_keys_are_reviewed_once_a_day_a_few_at_a_time(till: psycopg.Connection) -> None:
    for sku in ("A", "B", "C"):
        write(till, "item_location", sku=sku)
    write(till, "item_location", sku="OLD", reviewed_at="2026-03-01 00:00:00+00")
    write(till, "item_location", sku="REPLAYED", clock_mode="replayed")
    write(till, "item_location", sku="GONE", status="inactive")

    marked = [jobs.review(till, most=3) for _ in range(3)]

    assert marked == [3, 2, 0]
    unmarked = till.execute(
        "SELECT sku FROM retail.item_location WHERE reviewed_at IS NULL ORDER BY sku"
    ).fetchall()
    assert unmarked == [("REPLAYED",)]


def test_the_heartbeat_process_survives_a_lost_connection_and_ends_on_request(
    server: Server, database: str, ledger: psycopg.Connection
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "ledger.automation.heartbeat"],
        env=os.environ | server.environment(database),
        cwd=PROJECT,
        stdout=subprocess.DEVNULL,
    )
    try:
        first = wait_for_beat(ledger, above=0)
        ledger.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'inventory-jobs' AND datname = current_database()"
        )
        wait_for_beat(ledger, above=first + 1)
        alive = ledger.execute("SELECT service, pid FROM read_model.service_heartbeat").fetchall()
        assert alive == [("heartbeat", process.pid)]
    finally:
        code = end(process)
    assert code == 0


def wait_for_beat(ledger: psycopg.Connection, *, above: int) -> int:
    """Return the lowest heartbeat number of all partitions once it is greater than `above`."""
    deadline = time.monotonic() + DEADLINE_S
    last: object = None
    while time.monotonic() < deadline:
        last = ledger.execute("SELECT min(beat) FROM retail.pipeline_heartbeat").fetchone()
        if isinstance(last, tuple) and last[0] is not None and last[0] > above:
            return int(last[0])
        time.sleep(0.05)
    message = f"no beat above {above} in {DEADLINE_S} s, last {last}"
    raise TimeoutError(message)


def test_each_role_has_a_person_with_a_password_of_their_own(ledger: psycopg.Connection) -> None:
    # Django's own models load only after the fixture has set Django up.
    people = import_module("ledger.people")

    first = people.seed_demo_users()
    second = people.seed_demo_users("the-same-for-all")

    assert set(first) == set(people.ROLES)
    assert len(set(first.values())) == len(people.ROLES)
    assert set(second.values()) == {"the-same-for-all"}
    buyer = people.User.objects.get(username="buyer")
    assert buyer.check_password("the-same-for-all")
    assert [group.name for group in buyer.groups.all()] == ["buyer"]
