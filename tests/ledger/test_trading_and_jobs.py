import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib import import_module

import psycopg
import pytest

from cdc.contracts.partition import partition_of
from tests.ledger.postgres import PROJECT, Server
from tests.ledger.rows import write
from webui import jobs
from webui.ledger import services
from webui.ledger.services import ServiceError
from webui.trading import simulate
from webui.trading.demand import Demand
from webui.trading.demo import seed_demo
from webui.trading.goods import receive_due_goods
from webui.trading.pace import Pace
from webui.trading.retailer import plan
from webui.trading.scenarios import SCENARIOS

MIDNIGHT = datetime(2026, 3, 2, tzinfo=UTC)
DEADLINE_S = 20.0


def test_every_partition_has_a_heartbeat_key_of_its_own() -> None:
    numbers = jobs.heartbeat_numbers(12)

    assert numbers == (1, 18, 4, 9, 6, 5, 13, 22, 3, 0, 34, 2)
    assert [partition_of(f"~heartbeat|{n}".encode()) for n in numbers] == list(range(12))


def test_a_beat_raises_every_partition_by_one(till: psycopg.Connection) -> None:
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

    assert marked == [3, 1, 0]
    unmarked = till.execute(
        "SELECT sku FROM retail.item_location WHERE reviewed_at IS NULL ORDER BY sku"
    ).fetchall()
    assert unmarked == [("GONE",), ("REPLAYED",)]


def test_the_job_beats_survives_a_lost_connection_and_ends_when_asked(
    server: Server, database: str, ledger: psycopg.Connection
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "webui.jobs"],
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
        process.send_signal(signal.SIGTERM)
    assert process.wait(DEADLINE_S) == 0


def wait_for_beat(ledger: psycopg.Connection, *, above: int) -> int:
    """The first beat greater than `above`."""
    deadline = time.monotonic() + DEADLINE_S
    last: object = None
    while time.monotonic() < deadline:
        last = ledger.execute("SELECT min(beat) FROM retail.pipeline_heartbeat").fetchone()
        if isinstance(last, tuple) and last[0] is not None and last[0] > above:
            return int(last[0])
        time.sleep(0.05)
    message = f"no beat above {above} in {DEADLINE_S} s, last {last}"
    raise TimeoutError(message)


def test_the_same_seed_plans_the_same_retailer() -> None:
    assert plan(1, MIDNIGHT) == plan(1, MIDNIGHT)
    assert plan(1, MIDNIGHT) != plan(2, MIDNIGHT)


def test_every_planned_price_leaves_the_margin() -> None:
    items, keys = plan(1, MIDNIGHT)

    assert len(items) == 300
    assert len({key.inv_key for key in keys}) == len(keys) == 1200
    assert all(item.regular_minor > item.floor_minor for item in items)


def test_the_same_seed_plans_the_same_ticks_in_any_order() -> None:
    one, other = (
        Demand(seed=7, keys=50, rate=100.0, scenario=SCENARIOS["disorder"]) for _ in range(2)
    )

    forwards = [one.tick(number) for number in range(20)]
    backwards = [other.tick(number) for number in reversed(range(20))]

    assert forwards == backwards[::-1]
    assert sum(len(tick.lines) for tick in forwards) == pytest.approx(200, rel=0.3)


def test_half_of_a_flash_sale_is_one_key() -> None:
    demand = Demand(seed=7, keys=500, rate=2000.0, scenario=SCENARIOS["flash_sale"])

    keys = [line.key for number in range(10) for line in demand.tick(number).lines]

    assert keys.count(0) / len(keys) == pytest.approx(0.5, abs=0.1)


def test_a_late_sender_catches_up_instead_of_skipping() -> None:
    now = [0.0]
    slept: list[float] = []
    pace = Pace(per_second=10, clock=lambda: now[0], sleep=slept.append)

    pace.wait_for(10)
    pace.wait_for(10)
    now[0] = 5.0
    pace.wait_for(10)
    now[0] = 2.5
    pace.wait_for(10)

    assert slept == [1.0, 0.5]


def test_the_demo_is_seeded_once_goes_live_and_trades(ledger: psycopg.Connection) -> None:
    assert seed_demo(seed=3)
    assert not seed_demo(seed=3)
    modes = ledger.execute(
        "SELECT clock_mode, count(*) FROM retail.item_location GROUP BY 1"
    ).fetchall()
    assert modes == [("live", 1200)]
    before = ledger.execute("SELECT count(*) FROM retail.sale_line").fetchone()

    told: list[str] = []
    done = simulate.run(
        seed=3, rate=200.0, minutes=0.03, progress=lambda so_far: told.append(str(so_far))
    )

    assert done.refused == 0
    assert done.lines > 100
    assert "sale lines" in told[-1]
    after = ledger.execute("SELECT count(*) FROM retail.sale_line").fetchone()
    assert before is not None
    assert after == (before[0] + done.lines,)


def test_what_a_buyer_ordered_arrives_after_a_while(ledger: psycopg.Connection) -> None:
    write(ledger, "purchase_order_line", ordered_units=7)
    write(ledger, "purchase_order_line", status="draft")
    services.place_order_line(
        location="L", sku="S", supplier="ACME", ordered_units=7, order_ref="PO-2"
    )

    assert receive_due_goods() == 1
    assert receive_due_goods() == 0


def test_trading_without_a_retailer_says_what_to_do(ledger: psycopg.Connection) -> None:
    with pytest.raises(ServiceError, match="must be seeded first"):
        simulate.run()


def test_an_unknown_scenario_is_named_with_the_known_ones(ledger: psycopg.Connection) -> None:
    with pytest.raises(ServiceError, match=r"everyday.*'quiet'"):
        simulate.run(scenario="quiet")


def test_each_role_has_a_person_with_a_password_of_their_own(ledger: psycopg.Connection) -> None:
    # Django's own models load only after the fixture has set Django up.
    people = import_module("webui.ledger.people")

    first = people.seed_demo_users()
    second = people.seed_demo_users("the-same-for-all")

    assert set(first) == set(people.ROLES)
    assert len(set(first.values())) == len(people.ROLES)
    assert set(second.values()) == {"the-same-for-all"}
    buyer = people.User.objects.get(username="buyer")
    assert buyer.check_password("the-same-for-all")
    assert [group.name for group in buyer.groups.all()] == ["buyer"]
