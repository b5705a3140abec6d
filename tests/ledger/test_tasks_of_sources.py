"""Tasks for the operator: wrong clocks, silent sources, rejected records, pipeline lag."""

from datetime import timedelta
from uuid import uuid4

import psycopg
import pytest

from inventory.model.arithmetic import DAY_US
from tests.ledger.inbox import NOON, NOON_US, emptied, is_open, look, open_tasks, put, rejected
from tests.ledger.rows import write


@pytest.fixture
def inbox(ledger: psycopg.Connection) -> psycopg.Connection:
    """Return the ledger without tasks and their causes. Tests may set `recorded_at`."""
    return emptied(ledger)


def ahead(inbox: psycopg.Connection, number: int, seconds: int, **changes: object) -> None:
    at = NOON - timedelta(minutes=30)
    columns = {
        "source_ref": str(number),
        "recorded_at": at,
        "occurred_at": at + timedelta(seconds=seconds),
        **changes,
    }
    write(inbox, "sale_line", **columns)


@pytest.mark.domain("8 source clock")
def test_three_facts_of_one_source_in_the_future_open_a_clock_task(
    inbox: psycopg.Connection,
) -> None:
    ahead(inbox, 1, 301)
    ahead(inbox, 2, 301)
    ahead(inbox, 3, 300)
    ahead(inbox, 4, 999, source="till-2")
    assert not is_open(inbox, "source_clock")

    ahead(inbox, 5, 301)
    assert is_open(inbox, "source_clock")
    assert open_tasks(inbox)[0]["subject"] == "till-1"
    assert open_tasks(inbox)[0]["location"] == "L"


def test_three_shipments_with_future_times_open_a_clock_task(inbox: psycopg.Connection) -> None:
    at = NOON - timedelta(minutes=30)
    late = at + timedelta(seconds=301)
    unreceived = {"status": "shipped", "received_units": 0, "order_units": 0, "received_at": None}
    for given in (
        {"shipped_at": late, **unreceived},
        {"shipped_at": at, "received_at": late},
        {"received_at": late},
    ):
        assert not is_open(inbox, "source_clock")
        write(inbox, "shipment_line", recorded_at=at, recorded_by="dock-1", **given)

    assert is_open(inbox, "source_clock")
    assert open_tasks(inbox)[0]["subject"] == "dock-1"


def test_an_hour_without_future_facts_clears_a_clock_task(inbox: psycopg.Connection) -> None:
    for number in range(3):
        ahead(inbox, number, 400)
    last = NOON - timedelta(minutes=29)
    ahead(inbox, 9, 0, recorded_at=last, occurred_at=last + timedelta(seconds=500))
    assert is_open(inbox, "source_clock")

    assert is_open(inbox, "source_clock", NOON + timedelta(minutes=30))
    assert not is_open(inbox, "source_clock", NOON + timedelta(minutes=31))


def sales(inbox: psycopg.Connection, days_ago: int, hour: int, lines: int) -> None:
    at = NOON.replace(hour=hour) - timedelta(days=days_ago)
    for _ in range(lines):
        ahead(inbox, 0, 0, source_ref=str(uuid4()), occurred_at=at, recorded_at=at)


@pytest.mark.domain("8 stale source")
def test_a_shop_without_its_expected_sales_opens_a_stale_source_task(
    inbox: psycopg.Connection,
) -> None:
    sales(inbox, 0, 9, 1)
    for day in range(1, 8):
        sales(inbox, day, 10, 3)
        sales(inbox, day, 11, 4)
    inbox.execute("DELETE FROM retail.sale_line WHERE id = (SELECT max(id) FROM retail.sale_line)")
    assert not is_open(inbox, "stale_source")

    sales(inbox, 7, 11, 1)
    assert not is_open(inbox, "stale_source", NOON - timedelta(seconds=1))
    assert is_open(inbox, "stale_source")
    assert open_tasks(inbox)[0]["detail"]["lines_of_seven_days"] == 49

    sales(inbox, 0, 11, 1)
    assert not is_open(inbox, "stale_source")


def test_a_shop_outside_its_selling_hours_is_no_stale_source(inbox: psycopg.Connection) -> None:
    for day in range(1, 8):
        sales(inbox, day, 9, 20)
    sales(inbox, 0, 9, 1)

    assert not is_open(inbox, "stale_source", NOON.replace(hour=23))


@pytest.mark.domain("8 rejected record")
def test_a_rejected_record_task_stays_open_until_it_is_settled(inbox: psycopg.Connection) -> None:
    first = rejected(inbox)
    rejected(inbox, id="1-0-8", key=None)
    rejected(inbox, id="1-0-9", key=b"\xff\x00")
    look("rejected_record")
    assert [task["subject"] for task in open_tasks(inbox)] == ["L|S", "\\377\\000", "no key"]
    assert open_tasks(inbox)[0]["location"] == "L"

    put(inbox, "app.rejected_mark", record_id=first, action="dismissed", reason="a test")
    look("rejected_record")
    assert len(open_tasks(inbox)) == 2


@pytest.mark.domain("8 count again")
def test_a_count_rejected_as_too_late_opens_a_count_again_task(inbox: psycopg.Connection) -> None:
    rejected(inbox, reason="count_beyond_horizon", key="L|café".encode())
    assert is_open(inbox, "count_again")
    assert open_tasks(inbox)[0]["sku"] == "café"
    look("rejected_record")
    assert len(open_tasks(inbox)) == 2

    newer = NOON + timedelta(seconds=1)
    write(inbox, "stock_count", sku="café", recorded_at=newer, status="draft")
    assert look("count_again") == 0
    inbox.execute("UPDATE retail.stock_count SET status = 'approved'")
    assert look("count_again") == 1
    assert look("rejected_record") == 1


@pytest.mark.domain("8 pipeline stale")
def test_a_heartbeat_older_than_60_seconds_opens_a_stale_pipeline_task(
    inbox: psycopg.Connection,
) -> None:
    put(inbox, "read_model.heartbeat", partition=0, beat=9, commit_us=NOON_US, applied_at=NOON)
    put(
        inbox,
        "read_model.heartbeat",
        partition=1,
        beat=9,
        commit_us=NOON_US + DAY_US,
        applied_at=NOON,
    )
    assert not is_open(inbox, "pipeline_stale", NOON + timedelta(seconds=60))
    assert is_open(inbox, "pipeline_stale", NOON + timedelta(seconds=60, microseconds=1))
    inbox.execute("UPDATE read_model.heartbeat SET commit_us = commit_us + 60000000")
    assert not is_open(inbox, "pipeline_stale", NOON + timedelta(seconds=61))


def test_a_pipeline_that_never_passed_a_heartbeat_is_stale(inbox: psycopg.Connection) -> None:
    beat = {"location": "~heartbeat", "sku": "1", "recorded_at": NOON}
    write(inbox, "pipeline_heartbeat", beat=60, **beat)
    assert not is_open(inbox, "pipeline_stale")
    inbox.execute("UPDATE retail.pipeline_heartbeat SET beat = 61")
    assert is_open(inbox, "pipeline_stale")


def test_a_partition_that_never_passed_a_heartbeat_is_stale(inbox: psycopg.Connection) -> None:
    beat = {"location": "~heartbeat", "beat": 61, "recorded_at": NOON}
    for number in ("1", "2"):
        write(inbox, "pipeline_heartbeat", sku=number, occurred_at=NOON, **beat)
    write(
        inbox,
        "pipeline_heartbeat",
        sku="3",
        # A partition that only a former generation had. It gets no more heartbeats.
        occurred_at=NOON - timedelta(seconds=60),
        **beat,
    )
    heard = {"beat": 60, "commit_us": NOON_US, "applied_at": NOON}
    put(inbox, "read_model.heartbeat", partition=0, **heard)
    assert is_open(inbox, "pipeline_stale")
    assert open_tasks(inbox)[0]["detail"] == {"as_of": None, "never_heard": 1}

    put(inbox, "read_model.heartbeat", partition=1, **heard)
    assert not is_open(inbox, "pipeline_stale")
