"""The review job sets the review mark of each live key once per UTC day, in small batches."""

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from ledger.automation import heartbeat as jobs
from tests.ledger.postgres import Server
from tests.ledger.rows import write

MIDNIGHT = "date_trunc('day', clock_timestamp(), 'UTC')"


def set_back(ledger: psycopg.Connection, moment: str) -> None:
    ledger.execute(f"UPDATE retail.item_location SET reviewed_at = {moment}")  # noqa: S608 -- a moment of this file


@pytest.mark.parametrize(
    ("moment", "marked"),
    [
        ("NULL", 1),
        (f"{MIDNIGHT} - interval '1 microsecond'", 1),
        (f"{MIDNIGHT} - interval '30 days'", 1),
        (MIDNIGHT, 0),
        (f"{MIDNIGHT} + interval '1 microsecond'", 0),
    ],
)
def test_a_review_mark_is_valid_until_midnight_utc(
    ledger: psycopg.Connection, moment: str, marked: int
) -> None:
    ledger.execute("SET timezone = 'Pacific/Auckland'")
    write(ledger, "item_location")
    set_back(ledger, moment)

    assert jobs.review(ledger) == marked
    assert jobs.review(ledger) == 0


@pytest.mark.parametrize("status", ["active", "exit", "inactive"])
def test_keys_of_every_status_are_reviewed(ledger: psycopg.Connection, status: str) -> None:
    write(ledger, "item_location", status=status)
    assert jobs.review(ledger) == 1


def test_a_review_mark_leaves_recorded_by_of_the_policy_unchanged(
    ledger: psycopg.Connection,
) -> None:
    write(ledger, "item_location", recorded_by="ann")
    assert jobs.review(ledger) == 1
    found = ledger.execute("SELECT recorded_by, reviewed_at IS NOT NULL FROM retail.item_location")
    assert found.fetchall() == [("ann", True)]


def test_a_stopped_review_resumes_with_the_longest_unreviewed_keys(
    ledger: psycopg.Connection,
) -> None:
    for day in (3, 1, 2):
        write(ledger, "item_location", sku=str(day), reviewed_at=f"2026-03-0{day} 12:00:00+00")
    write(ledger, "item_location", sku="never")

    for expected in (["never", "1"], ["2", "3"]):
        before = ledger.execute("SELECT clock_timestamp()").fetchone()
        assert before is not None
        assert jobs.review(ledger, most=2) == 2
        marked = ledger.execute(
            "SELECT sku FROM retail.item_location WHERE reviewed_at >= %s ORDER BY sku", before
        ).fetchall()
        assert sorted(expected) == [sku for (sku,) in marked]


def test_a_nested_loop_plan_marks_no_more_keys_than_the_limit(ledger: psycopg.Connection) -> None:
    for number in range(20):
        write(ledger, "item_location", sku=str(number))
    # Force the plan that Postgres chooses if statistics call the table nearly empty.
    ledger.execute("SET enable_hashjoin = off")
    ledger.execute("SET enable_mergejoin = off")
    ledger.execute("SET enable_hashagg = off")
    ledger.execute("SET enable_sort = off")
    ledger.execute("SET enable_material = off")

    assert jobs.review(ledger, most=2) == 2


def test_two_jobs_at_once_mark_each_key_once(
    server: Server, database: str, ledger: psycopg.Connection
) -> None:
    for number in range(300):
        write(ledger, "item_location", sku=str(number))

    def marked(_: int) -> int:
        with psycopg.connect(server.url("app_rw", database), autocommit=True) as connection:
            return sum(jobs.review(connection, most=10) for _ in range(40))

    with ThreadPoolExecutor(3) as pool:
        assert sum(pool.map(marked, range(3))) == 300


def test_keys_reviewed_today_are_not_read_again(ledger: psycopg.Connection) -> None:
    ledger.execute(
        "INSERT INTO retail.item_location (inv_key, location, sku, status, reviewed_at)"
        " SELECT 'L|' || n, 'L', n, 'active', clock_timestamp() FROM generate_series(1, 5000) n"
    )
    ledger.execute("ANALYZE retail.item_location")
    select = jobs.REVIEW[jobs.REVIEW.index("SELECT id") : jobs.REVIEW.index(")\nUPDATE")]

    plan = ledger.execute("EXPLAIN (ANALYZE, COSTS OFF) " + select, {"most": 200}).fetchall()

    text = "\n".join(line for (line,) in plan)
    assert "Index Cond" in text
    assert "Rows Removed by Filter" not in text
