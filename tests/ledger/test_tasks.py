"""Tasks about items, orders and prices, on both sides of their conditions."""

from dataclasses import replace
from datetime import timedelta

import psycopg
import pytest

from inventory.model.arithmetic import DAY_US
from inventory.model.episode import Episode, PriceEpisode
from inventory.model.ids import ProposalId, ReorderId
from inventory.model.price_timeline import PriceRow
from inventory.pricing.targets import floor_minor
from tests.ledger.inbox import (
    NOON,
    NOON_US,
    emptied,
    is_open,
    level,
    look,
    open_tasks,
    policy,
    state,
)
from tests.ledger.rows import price_proposal, reorder_proposal, write
from webui.readmodel.stock import stock_page
from webui.readmodel.stock_filters import Filters


@pytest.fixture
def inbox(ledger: psycopg.Connection) -> psycopg.Connection:
    """Return the ledger without tasks and their causes. Tests may set `recorded_at`."""
    return emptied(ledger)


@pytest.mark.domain("8 negative stock")
def test_stock_below_zero_opens_a_task_only_after_a_count(inbox: psycopg.Connection) -> None:
    level(inbox, state(stock={"on_hand_units": 0}))
    assert not is_open(inbox, "negative_stock")

    level(inbox, state(stock={"on_hand_units": -1}))
    assert is_open(inbox, "negative_stock")
    task = open_tasks(inbox)[0]
    assert (task["role"], task["subject"], task["detail"]) == (
        "manager",
        "L|S",
        {"on_hand_units": -1},
    )

    level(inbox, state(stock={"on_hand_units": -1, "opening_count": None}))
    assert not is_open(inbox, "negative_stock")


@pytest.mark.domain("8 not counted")
def test_an_active_item_without_a_count_opens_a_not_counted_task(inbox: psycopg.Connection) -> None:
    level(inbox, state(stock={"opening_count": None}))
    assert is_open(inbox, "not_counted")
    level(inbox, state())
    assert not is_open(inbox, "not_counted")
    level(inbox, state(stock={"opening_count": None}, policy=replace(policy(), status="exit")))
    assert not is_open(inbox, "not_counted")


def test_a_count_recorded_within_a_minute_delays_the_not_counted_task(
    inbox: psycopg.Connection,
) -> None:
    level(inbox, state(stock={"opening_count": None}))
    write(inbox, "stock_count", recorded_at=NOON - timedelta(seconds=60))
    assert is_open(inbox, "not_counted")
    inbox.execute("UPDATE retail.stock_count SET recorded_at = %s", (NOON - timedelta(seconds=59),))
    assert not is_open(inbox, "not_counted")


@pytest.mark.domain("8 unknown item")
def test_facts_without_an_item_open_an_unknown_item_task(inbox: psycopg.Connection) -> None:
    level(inbox, state(policy=None, stock={"opening_count": None}))
    write(inbox, "sale_line", recorded_at=NOON)
    assert is_open(inbox, "unknown_item")
    write(inbox, "item_location", recorded_at=NOON)
    assert not is_open(inbox, "unknown_item")


@pytest.mark.domain("8 unknown item")
@pytest.mark.parametrize(
    ("table", "fact", "taken_back"),
    [
        ("sale_line", {}, "DELETE FROM retail.sale_line"),
        ("shipment_line", {}, "DELETE FROM retail.shipment_line"),
        ("stock_adjustment", {}, "DELETE FROM retail.stock_adjustment"),
        ("stock_count", {}, "UPDATE retail.stock_count SET status = 'void'"),
        ("stock_count", {}, "UPDATE retail.stock_count SET status = 'draft'"),
        ("purchase_order_line", {}, "DELETE FROM retail.purchase_order_line"),
        (
            "purchase_order_line",
            {},
            "UPDATE retail.purchase_order_line SET cancelled_units = 10, status = 'closed'",
        ),
        (
            "purchase_order_line",
            {"confirmed_units": 4, "cancelled_units": 3},
            "UPDATE retail.purchase_order_line SET cancelled_units = 4",
        ),
    ],
)
def test_an_unknown_item_whose_facts_were_undone_has_no_task_and_no_row(
    inbox: psycopg.Connection, table: str, fact: dict[str, object], taken_back: str
) -> None:
    def found() -> tuple[bool, int]:
        return is_open(inbox, "unknown_item"), len(stock_page(Filters()).rows)

    level(inbox, state(policy=None, stock={"opening_count": None, "on_hand_units": 0}))
    assert found() == (False, 0)

    write(inbox, table, recorded_at=NOON, **fact)
    assert found() == (True, 1)
    inbox.execute(taken_back)
    assert found() == (False, 0)


def test_an_order_with_one_open_unit_keeps_the_unknown_item_task_open(
    inbox: psycopg.Connection,
) -> None:
    level(inbox, state(policy=None, stock={"opening_count": None}))
    write(inbox, "purchase_order_line", recorded_at=NOON, cancelled_units=9)
    assert is_open(inbox, "unknown_item")


@pytest.mark.domain("8 held at zero")
@pytest.mark.parametrize("held", ["held-snoozed", "held-rejected", "held-short"])
def test_a_held_need_with_nothing_to_sell_opens_a_task(
    inbox: psycopg.Connection, held: str
) -> None:
    episode = Episode(state=held, until_us=NOON_US)
    level(inbox, state(episode=episode, policy=policy(allocated_units=9)))
    assert not is_open(inbox, "held_at_zero")
    level(inbox, state(episode=episode, policy=policy(allocated_units=10)))
    assert is_open(inbox, "held_at_zero")
    level(inbox, state(policy=policy(allocated_units=10)))
    assert not is_open(inbox, "held_at_zero")


@pytest.mark.domain("8 negative bucket")
@pytest.mark.parametrize("bucket", ["on_order_units", "unavailable_units"])
def test_a_stock_bucket_below_zero_opens_a_task(inbox: psycopg.Connection, bucket: str) -> None:
    level(inbox, state(stock={bucket: 0}))
    assert not is_open(inbox, "negative_bucket")
    level(inbox, state(stock={bucket: -1}))
    assert is_open(inbox, "negative_bucket")


@pytest.mark.domain("8 floor breached")
@pytest.mark.parametrize(
    ("cost", "margin", "tax"),
    [(333, 250, 700), (1000, 0, 0), (500, 200, 2000), (999_999_999, 999, 2500), (1, 1, 1)],
)
def test_a_price_below_its_floor_opens_a_task(
    inbox: psycopg.Connection, cost: int, margin: int, tax: int
) -> None:
    lowest = min(floor_minor(cost, margin, tax), 1_000_000_000)
    floor_is_in_range = lowest < 1_000_000_000
    columns = {"cost_minor": cost, "margin_permille": margin, "tax_bp": tax}
    write(
        inbox,
        "item_location",
        recorded_at=NOON,
        price_mode="advise",
        regular_minor=lowest,
        **columns,
    )
    level(inbox, state())
    assert is_open(inbox, "floor_breached") is not floor_is_in_range

    inbox.execute("UPDATE retail.item_location SET regular_minor = %s", (max(1, lowest - 1),))
    assert is_open(inbox, "floor_breached") is (lowest > 1)
    inbox.execute("UPDATE retail.item_location SET price_mode = 'off'")
    assert not is_open(inbox, "floor_breached")


def test_a_higher_price_in_force_clears_a_floor_breached_task(inbox: psycopg.Connection) -> None:
    write(
        inbox,
        "item_location",
        recorded_at=NOON,
        price_mode="auto",
        regular_minor=999,
        cost_minor=900,
        margin_permille=0,
    )
    cheap = PriceRow(NOON_US - DAY_US, 1, 899, 1, "manual")
    level(inbox, state(timeline=(cheap,)))
    write(
        inbox,
        "price_change",
        price_minor=899,
        floor_minor=0,
        effective_from=NOON - timedelta(days=1),
        recorded_at=NOON,
    )
    assert is_open(inbox, "floor_breached")
    write(
        inbox,
        "price_change",
        price_minor=949,
        floor_minor=0,
        effective_from=NOON + timedelta(hours=1),
        recorded_at=NOON,
    )
    assert is_open(inbox, "floor_breached")
    assert not is_open(inbox, "floor_breached", NOON + timedelta(hours=1))


def order(inbox: psycopg.Connection, **changes: object) -> int:
    columns = {"due_on": NOON.date(), "recorded_at": NOON, "ordered_units": 10, **changes}
    return write(inbox, "purchase_order_line", **columns)


@pytest.mark.domain("8 overdue receipt")
def test_open_units_are_overdue_from_midnight_after_the_due_day(inbox: psycopg.Connection) -> None:
    order(inbox)
    midnight = NOON + timedelta(hours=12)

    assert not is_open(inbox, "overdue_receipt", midnight - timedelta(microseconds=1))
    assert is_open(inbox, "overdue_receipt", midnight)
    task = open_tasks(inbox)[0]
    assert task["role"] == "buyer"
    assert task["detail"]["open_units"] == 10


@pytest.mark.parametrize(
    "change",
    [
        {"status": "closed", "cancelled_units": 10},
        {"cancelled_units": 10},
        {"confirmed_units": 0},
        {"due_on": NOON.date() + timedelta(days=7)},
        {"status": "draft"},
        {"due_on": None},
    ],
)
def test_closed_draft_undated_or_later_orders_are_not_overdue(
    inbox: psycopg.Connection, change: dict[str, object]
) -> None:
    order(inbox, **change)
    assert not is_open(inbox, "overdue_receipt", NOON + timedelta(days=1))


def test_a_receipt_of_all_units_clears_an_overdue_order(inbox: psycopg.Connection) -> None:
    line = order(inbox)
    later = NOON + timedelta(days=2)
    for units in (9, 1):
        assert is_open(inbox, "overdue_receipt", later)
        write(
            inbox,
            "shipment_line",
            purchase_order_line_id=line,
            recorded_at=NOON,
            received_units=units,
            order_units=units,
        )
    assert not is_open(inbox, "overdue_receipt", later)


def transfer(inbox: psycopg.Connection, **changes: object) -> None:
    shared: dict[str, object] = {
        "transfer_ref": "T-1",
        "status": "shipped",
        "shipped_units": 6,
        "shipped_at": NOON,
        "recorded_at": NOON,
        "received_at": None,
        "received_units": 0,
        "order_units": 0,
    }
    write(inbox, "shipment_line", leg="transfer_out", location="FROM", **shared)
    write(inbox, "shipment_line", leg="transfer_in", location="TO", **shared | changes)


@pytest.mark.domain("8 stuck transfer")
def test_a_transfer_three_days_past_due_is_stuck_at_both_ends(inbox: psycopg.Connection) -> None:
    transfer(inbox, due_on=NOON.date())
    look("stuck_transfer", NOON + timedelta(days=2, hours=11))
    assert open_tasks(inbox) == []

    look("stuck_transfer", NOON + timedelta(days=3))

    assert {task["subject"] for task in open_tasks(inbox)} == {"FROM|S", "TO|S"}
    assert {task["role"] for task in open_tasks(inbox)} == {"manager"}
    inbox.execute(
        "UPDATE retail.shipment_line SET status = 'received', received_at = shipped_at"
        " WHERE leg = 'transfer_in'"
    )
    look("stuck_transfer", NOON + timedelta(days=3))
    assert open_tasks(inbox) == []


def test_a_received_item_of_a_stuck_transfer_is_not_stuck(inbox: psycopg.Connection) -> None:
    transfer(inbox, due_on=NOON.date())
    other: dict[str, object] = {"transfer_ref": "T-1", "sku": "T", "recorded_at": NOON}
    left = {"leg": "transfer_out", "location": "FROM", "status": "shipped", "shipped_at": NOON}
    write(inbox, "shipment_line", **other | left, received_units=0, order_units=0)
    write(inbox, "shipment_line", **other, leg="transfer_in", location="TO", order_units=0)

    look("stuck_transfer", NOON + timedelta(days=3))

    assert {task["subject"] for task in open_tasks(inbox)} == {"FROM|S", "TO|S"}


def test_a_transfer_without_a_due_day_is_due_after_its_lead_time(inbox: psycopg.Connection) -> None:
    transfer(inbox)
    write(inbox, "item_location", location="TO", lead_time_centidays=101, recorded_at=NOON)
    look("stuck_transfer", NOON + timedelta(days=4))
    assert open_tasks(inbox) == []
    look("stuck_transfer", NOON + timedelta(days=5))
    assert len(open_tasks(inbox)) == 2


@pytest.mark.domain("8 stuck signal")
def test_a_proposal_without_a_decision_for_a_day_is_stuck(inbox: psycopg.Connection) -> None:
    reorder_proposal(inbox, opened_at=NOON)
    day = NOON + timedelta(days=1)

    assert not is_open(inbox, "stuck_signal", day - timedelta(microseconds=1))
    assert is_open(inbox, "stuck_signal", day)
    assert open_tasks(inbox)[0]["role"] == "lead"
    inbox.execute(
        "UPDATE app.reorder_proposal SET decided_action = 'approve', decided_by = 'b',"
        " decided_at = %s",
        (day,),
    )
    assert not is_open(inbox, "stuck_signal", day + timedelta(days=9))


def test_a_resumed_proposal_is_stuck_a_day_after_its_resumption(inbox: psycopg.Connection) -> None:
    at = NOON + timedelta(hours=20)
    reorder_proposal(inbox, opened_at=NOON, decided_action="resume", decided_at=at)
    assert not is_open(inbox, "stuck_signal", NOON + timedelta(days=1))
    assert is_open(inbox, "stuck_signal", at + timedelta(days=1))


@pytest.mark.parametrize(("until_days", "end_days"), [(3, 3), (30, 5), (None, 5)])
def test_a_snoozed_need_is_stuck_a_day_after_its_snooze_ends(
    inbox: psycopg.Connection, until_days: int | None, end_days: int
) -> None:
    """A snooze ends at `until_at`, or with the need's next event if that comes first."""
    until = None if until_days is None else NOON + timedelta(days=until_days)
    need = reorder_proposal(
        inbox,
        opened_at=NOON,
        decided_action="snooze",
        decided_at=NOON,
        updated_at=NOON + timedelta(days=5),
    )
    write(
        inbox,
        "reorder_decision",
        reorder_id=need,
        action="snooze",
        until_at=until,
        recorded_at=NOON,
    )
    stuck = NOON + timedelta(days=end_days + 1)

    assert not is_open(inbox, "stuck_signal", stuck - timedelta(microseconds=1))
    assert is_open(inbox, "stuck_signal", stuck)


@pytest.mark.domain("8 stuck signal")
@pytest.mark.parametrize("side", ["reorder", "price"])
def test_a_decision_without_its_proposal_for_a_minute_opens_a_task(
    inbox: psycopg.Connection, side: str
) -> None:
    if side == "reorder":
        level(inbox, state(episode=Episode(state="open", id=ReorderId("R:L|S:1-2"))))
    else:
        level(inbox, state(price_episode=PriceEpisode(id=ProposalId("P:L|S:1-2"))))

    assert not is_open(inbox, "missing_proposal", NOON)
    assert not is_open(inbox, "missing_proposal", NOON + timedelta(seconds=59))
    assert is_open(inbox, "missing_proposal", NOON + timedelta(seconds=60))
    assert open_tasks(inbox)[0]["role"] == "operator"

    (reorder_proposal if side == "reorder" else price_proposal)(inbox)
    assert not is_open(inbox, "missing_proposal", NOON + timedelta(seconds=61))


def test_a_proposal_missing_for_less_than_a_minute_opens_no_task(inbox: psycopg.Connection) -> None:
    found = state(episode=Episode(state="open", id=ReorderId("R:L|S:1-2")))
    level(inbox, found)
    look("missing_proposal", NOON)
    level(inbox, state())
    look("missing_proposal", NOON + timedelta(seconds=50))
    level(inbox, found)

    assert not is_open(inbox, "missing_proposal", NOON + timedelta(seconds=70))
    assert inbox.execute("SELECT count(*) FROM app.task").fetchone() == (1,)
