"""Phantom stock and count differences by the rules, and how tasks open and clear."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
import pytest

from inventory.model.arithmetic import DAY_US, WINDOW_US
from inventory.model.ids import InvKey
from inventory.model.state import Count, KeyState
from inventory.reports.conditions import is_variance_due
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.inbox import (
    NOON,
    NOON_US,
    emptied,
    is_open,
    level,
    look,
    open_tasks,
    policy,
    put,
    state,
    unsold,
)
from tests.ledger.rows import write

THRESHOLD = 4_605_170


@pytest.fixture
def inbox(ledger: psycopg.Connection) -> psycopg.Connection:
    """Return the ledger without tasks and their causes. Tests may set `recorded_at`."""
    return emptied(ledger)


def unsold_state(quiet: int, rate_micro: int = 2_000_000, windows: int = 72) -> KeyState:
    """Return the state of a counted key with 10 units and no sale for `quiet` windows."""
    return state(
        demand=unsold(quiet, rate_micro=rate_micro), policy=policy(trading_windows=windows)
    )


def ranged(inbox: psycopg.Connection, **columns: object) -> None:
    write(inbox, "item_location", recorded_at=NOON, **columns)


@pytest.mark.domain("8 phantom suspect", "8 phantom 165 *", "8 phantom 166 *")
@pytest.mark.parametrize(
    ("quiet", "rate_micro", "windows", "is_suspect"),
    [
        (165, 2_000_000, 72, False),
        (166, 2_000_000, 72, True),
        (663, 1_000_000, 144, False),
        (664, 1_000_000, 144, True),
        (1, 4_605_169, 1, False),
        (1, 4_605_170, 1, True),
        (10**6, 1, 144, False),
        (9_007_199_254_740_991, 9_007_199_254_740_991, 1, True),
    ],
)
def test_a_shelf_is_a_phantom_suspect_from_the_threshold_on(
    inbox: psycopg.Connection, quiet: int, rate_micro: int, windows: int, *, is_suspect: bool
) -> None:
    ranged(inbox)
    level(inbox, unsold_state(quiet, rate_micro, windows))

    assert is_open(inbox, "phantom_suspect") is is_suspect


@pytest.mark.parametrize(("days", "is_suspect"), [(3, False), (4, True)])
def test_quiet_windows_before_a_count_do_not_make_a_shelf_suspect(
    inbox: psycopg.Connection, days: int, *, is_suspect: bool
) -> None:
    ranged(inbox)
    # Complete days after the count: 2 have 144 quiet windows, 3 have 216. A suspect needs 166.
    level(inbox, counted(unsold_state(400), Count(NOON_US - days * DAY_US, 2, 9, "cycle")))

    assert is_open(inbox, "phantom_suspect") is is_suspect


@pytest.mark.parametrize(("quiet", "is_suspect"), [(165, False), (166, True)])
def test_a_state_that_an_early_release_wrote_can_be_a_phantom_suspect(
    inbox: psycopg.Connection, *, quiet: int, is_suspect: bool
) -> None:
    level(inbox, unsold_state(quiet))
    inbox.execute("UPDATE read_model.stock SET state = state::jsonb::text")

    assert is_open(inbox, "phantom_suspect") is is_suspect


def test_a_phantom_task_has_its_numbers_and_is_for_store_staff(inbox: psycopg.Connection) -> None:
    ranged(inbox)
    level(inbox, unsold_state(166))
    look("phantom_suspect")

    task = open_tasks(inbox)[0]
    assert task["role"] == "associate"
    assert task["detail"] == {
        "on_hand_units": 10,
        "lambda_micro": 4_611_111,
        "threshold_micro": THRESHOLD,
        "quiet_windows": 166,
        "rate_micro": 2_000_000,
        "last_count": 1,
    }


@pytest.mark.parametrize("change", [{"on_hand_units": 0}, {"opening_count": None}])
def test_an_empty_or_uncounted_shelf_is_no_phantom(
    inbox: psycopg.Connection, change: dict[str, Any]
) -> None:
    ranged(inbox)
    suspect = unsold_state(166)
    level(inbox, replace(suspect, stock=replace(suspect.stock, **change)))
    assert not is_open(inbox, "phantom_suspect")


def sold_at(inbox: psycopg.Connection, start_us: int, units: int = 1) -> None:
    put(
        inbox,
        "read_model.sales_window",
        inv_key="L|S",
        start_us=start_us,
        sold_units=units,
        returned_units=1,
        sale_lines=1,
        return_lines=1,
        revenue_minor=1,
        late_lines=0,
        window_revision=0,
        partition=0,
        offset=1,
    )


def test_a_sale_of_today_clears_a_phantom_suspicion(inbox: psycopg.Connection) -> None:
    ranged(inbox)
    level(inbox, unsold_state(166))
    today = NOON_US // DAY_US * DAY_US
    sold_at(inbox, today - WINDOW_US)
    sold_at(inbox, today + WINDOW_US, units=0)
    assert is_open(inbox, "phantom_suspect")

    sold_at(inbox, today)
    assert not is_open(inbox, "phantom_suspect")


def test_a_sale_of_yesterday_clears_a_suspicion_until_the_grace_ends(
    inbox: psycopg.Connection,
) -> None:
    ranged(inbox)
    midnight = NOON_US // DAY_US * DAY_US
    sold_at(inbox, midnight - WINDOW_US)

    level(inbox, replace(unsold_state(166), stream_time_us=midnight + WINDOW_US - 1))
    assert not is_open(inbox, "phantom_suspect")
    level(inbox, replace(unsold_state(166), stream_time_us=midnight + WINDOW_US))
    assert is_open(inbox, "phantom_suspect")


def counted(found: KeyState, count: Count) -> KeyState:
    """Return the state after this count."""
    return replace(found, stock=replace(found.stock, counts=(count,), on_hand_units=count.units))


def threshold(inbox: psycopg.Connection) -> int:
    row = inbox.execute("SELECT phantom_lambda_micro FROM retail.item_location").fetchone()
    assert row is not None
    return int(row[0])


def test_a_count_that_finds_goods_is_a_false_alarm_and_raises_the_threshold(
    inbox: psycopg.Connection,
) -> None:
    ranged(inbox)
    suspect = unsold_state(200)
    level(inbox, suspect)
    assert is_open(inbox, "phantom_suspect")

    level(inbox, counted(suspect, Count(NOON_US, 2, 9, "cycle")))
    for _ in range(2):
        assert not is_open(inbox, "phantom_suspect")

    assert threshold(inbox) == 6_907_755
    why = inbox.execute("SELECT cleared_why FROM app.task").fetchall()
    assert why == [("false alarm: a count found 9",)]


def test_false_alarms_lock_their_items_in_the_order_of_approvals(
    inbox: psycopg.Connection,
) -> None:
    suspects = [replace(unsold_state(200), inv_key=InvKey(f"L|{sku}")) for sku in "ZA"]
    for suspect in suspects:
        ranged(inbox, sku=suspect.inv_key.partition("|")[2])
        level(inbox, suspect)
        look("phantom_suspect")
    assert [task["inv_key"] for task in open_tasks(inbox)] == ["L|Z", "L|A"]

    for suspect in suspects:
        level(inbox, counted(suspect, Count(NOON_US, 2, 9, "cycle")))
    look("phantom_suspect")

    changed = "SELECT subject FROM app.action_log WHERE action = 'policy' ORDER BY id"
    assert inbox.execute(changed).fetchall() == [("L|A",), ("L|Z",)]


def test_a_count_of_zero_is_no_false_alarm(inbox: psycopg.Connection) -> None:
    ranged(inbox)
    suspect = unsold_state(200)
    level(inbox, suspect)
    look("phantom_suspect")

    level(inbox, counted(suspect, Count(NOON_US, 2, 0, "cycle")))

    assert not is_open(inbox, "phantom_suspect")
    assert threshold(inbox) == THRESHOLD


def test_a_raised_threshold_needs_half_as_many_quiet_windows_more(
    inbox: psycopg.Connection,
) -> None:
    ranged(inbox, phantom_lambda_micro=6_907_755)
    level(inbox, unsold_state(248))
    assert not is_open(inbox, "phantom_suspect")
    level(inbox, unsold_state(249))
    assert is_open(inbox, "phantom_suspect")


def count(inbox: psycopg.Connection, **changes: object) -> int:
    at = NOON - timedelta(hours=1)
    return write(inbox, "stock_count", **{"occurred_at": at, "recorded_at": at, **changes})


@pytest.mark.domain("8 count variance")
@pytest.mark.parametrize("status", ["draft", "approved"])
@pytest.mark.parametrize("expected", [0, 20, 21, 105])
def test_a_count_difference_opens_a_task_exactly_when_the_rule_requires_it(
    inbox: psycopg.Connection, status: str, expected: int
) -> None:
    count(inbox, units=expected, kind="opening", occurred_at=NOON - timedelta(days=9))
    row = count(inbox, units=expected, status=status)
    for units in range(max(0, expected - 13), expected + 14):
        inbox.execute("UPDATE retail.stock_count SET units = %s WHERE id = %s", (units, row))
        inbox.execute("DELETE FROM app.task")
        assert is_open(inbox, "count_variance") is is_variance_due(units, expected), units


def test_a_count_difference_task_has_both_numbers_and_is_for_managers(
    inbox: psycopg.Connection,
) -> None:
    count(inbox, units=20, kind="opening", occurred_at=NOON - timedelta(days=9))
    row = count(inbox, units=17, recorded_by="ann")
    look("count_variance")

    task = open_tasks(inbox)[0]
    assert task["role"] == "manager"
    assert task["detail"] == {
        "count": row,
        "status": "approved",
        "counted_units": 17,
        "expected_units": 20,
        "variance_units": -3,
        "counted_by": "ann",
    }


def test_a_first_count_opens_no_difference_task(inbox: psycopg.Connection) -> None:
    count(inbox, units=400)
    assert not is_open(inbox, "count_variance")


def test_a_late_sale_opens_a_difference_task_and_its_removal_clears_it(
    inbox: psycopg.Connection,
) -> None:
    count(inbox, units=20, kind="opening", occurred_at=NOON - timedelta(days=9))
    count(inbox, units=20)
    assert not is_open(inbox, "count_variance")

    before = NOON - timedelta(hours=2)
    late = write(inbox, "sale_line", quantity_units=3, occurred_at=before, recorded_at=NOON)
    assert is_open(inbox, "count_variance")
    assert open_tasks(inbox)[0]["detail"]["variance_units"] == 3

    inbox.execute("DELETE FROM retail.sale_line WHERE id = %s", (late,))
    assert not is_open(inbox, "count_variance")


def test_a_difference_shown_at_the_approval_opens_no_task(inbox: psycopg.Connection) -> None:
    count(inbox, units=20, kind="opening", occurred_at=NOON - timedelta(days=9))
    row = count(inbox, units=10, approved_by="max", counted_by="ann", expected_units=20)
    assert not is_open(inbox, "count_variance")
    inbox.execute("UPDATE retail.stock_count SET expected_units = 12 WHERE id = %s", (row,))
    assert is_open(inbox, "count_variance")


def test_a_count_of_a_day_already_folded_opens_no_difference_task(
    inbox: psycopg.Connection,
) -> None:
    count(inbox, units=20, kind="opening", occurred_at=NOON - timedelta(days=9))
    oldest = NOON.replace(hour=0) - timedelta(days=3)
    count(inbox, units=10, occurred_at=oldest - timedelta(seconds=1))
    assert not is_open(inbox, "count_variance")
    inbox.execute("UPDATE retail.stock_count SET occurred_at = %s WHERE units = 10", (oldest,))
    assert is_open(inbox, "count_variance")


def test_evaluating_a_task_rule_twice_changes_nothing(inbox: psycopg.Connection) -> None:
    level(inbox, state(stock={"on_hand_units": -1}))
    assert look("negative_stock") == 1
    before = open_tasks(inbox)

    assert look("negative_stock", NOON + timedelta(seconds=5)) == 0

    assert open_tasks(inbox) == before


def test_an_open_task_is_updated_with_new_numbers(inbox: psycopg.Connection) -> None:
    level(inbox, state(stock={"on_hand_units": -1}))
    look("negative_stock")
    first = open_tasks(inbox)[0]
    level(inbox, state(stock={"on_hand_units": -4}))

    assert look("negative_stock", NOON + timedelta(seconds=5)) == 0

    second = open_tasks(inbox)[0]
    assert second["detail"] == {"on_hand_units": -4}
    assert (second["id"], second["opened_at"]) == (first["id"], first["opened_at"])


def test_a_condition_that_comes_back_opens_another_task(inbox: psycopg.Connection) -> None:
    for units in (-1, 0, -1):
        level(inbox, state(stock={"on_hand_units": units}))
        assert look("negative_stock") == 1

    rows = inbox.execute("SELECT cleared_why FROM app.task ORDER BY id").fetchall()
    assert rows == [("the condition has ended",), (None,)]


def test_concurrent_rule_evaluations_open_one_task_for_each_key(inbox: psycopg.Connection) -> None:
    for sku in range(40):
        level(inbox, state(sku=str(sku), stock={"on_hand_units": -1}))

    changed = at_the_same_time(*[lambda: look("negative_stock")] * 4)

    assert sorted(changed) == [0, 0, 0, 40]
    assert len(open_tasks(inbox)) == 40


def test_concurrent_rule_evaluations_raise_a_threshold_once(inbox: psycopg.Connection) -> None:
    ranged(inbox)
    suspect = unsold_state(200)
    level(inbox, suspect)
    look("phantom_suspect")
    level(inbox, counted(suspect, Count(NOON_US, 2, 9, "cycle")))

    at_the_same_time(*[lambda: look("phantom_suspect")] * 4)

    assert threshold(inbox) == 6_907_755
