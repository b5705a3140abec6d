"""Orders without a person: each condition on both sides, and the job that places them."""

from dataclasses import replace
from typing import Any

import psycopg
import pytest

from ledger import services
from ledger.automation.reorders import approve_due
from ledger.reorders.automatic import Case, own_reasons, reasons_to_wait, why_not
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import reorder_proposal

pytestmark = pytest.mark.usefixtures("database")  # amounts need the setting of the currency
MINUTE_US = 60_000_000
THURSDAY = 3
FREE = Case(
    reorder_id="R:1",
    revision=1,
    inv_key="L|S",
    location="L",
    supplier="ACME",
    quantity_units=42,
    pack_units=6,
    cost_minor=100,
    auto_max_minor=4200,
    flags=(),
    supplier_active=True,
    minimum_order_minor=0,
    order_days_mask=127,
    weekday=THURSDAY,
    unchanged_us=MINUTE_US,
    stock_age_us=MINUTE_US,
    pipeline_age_us=MINUTE_US,
    requested_units=42,
)

ALL_THAT_A_LINE_TAKES = {
    "quantity_units": 1_000_000,
    "requested_units": 1_000_000,
    "pack_units": 2,
    "cost_minor": 0,
}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({}, None),
        ({"auto_max_minor": 0}, "no_limit"),
        ({"auto_max_minor": 4199}, "above_limit"),
        ({"auto_max_minor": 4201}, None),
        ({"cost_minor": 101}, "above_limit"),
        ({"flags": ("cover_over_guard",)}, "flagged"),
        ({"pack_units": 5}, "odd_units"),
        (ALL_THAT_A_LINE_TAKES, None),
        (
            ALL_THAT_A_LINE_TAKES | {"quantity_units": 1_000_002, "requested_units": 1_000_002},
            "too_many",
        ),
        ({"supplier": None}, "no_supplier"),
        ({"supplier_active": False}, "supplier_inactive"),
        ({"order_days_mask": 0b0001000}, None),
        ({"order_days_mask": 0b1110111}, "not_order_day"),
        ({"unchanged_us": MINUTE_US - 1}, "unsettled"),
        ({"stock_age_us": MINUTE_US + 1}, "stock_old"),
        ({"stock_age_us": None}, "stock_old"),
        ({"pipeline_age_us": MINUTE_US + 1}, "pipeline_stale"),
        ({"pipeline_age_us": None}, "pipeline_stale"),
        ({"requested_units": 48}, "state_differs"),
        ({"requested_units": None}, "state_differs"),
        ({"minimum_order_minor": 4200}, None),
        ({"minimum_order_minor": 4201}, "below_minimum"),
    ],
)
def test_each_automatic_order_condition_alone_blocks_a_need(
    change: dict[str, Any], code: str | None
) -> None:
    found = reasons_to_wait([replace(FREE, **change)])["R:1"]

    assert [reason.code for reason in found] == ([] if code is None else [code])


def test_needs_of_one_supplier_and_location_reach_the_minimum_together() -> None:
    asked = replace(FREE, minimum_order_minor=8400)
    second = replace(asked, reorder_id="R:2")
    elsewhere = replace(asked, reorder_id="R:3", location="M")

    found = reasons_to_wait([asked, second, elsewhere])

    assert [len(found[name]) for name in ("R:1", "R:2", "R:3")] == [0, 0, 1]
    assert "€42.00, below the supplier's minimum of €84.00" in found["R:3"][0].text


def test_blocked_need_does_not_count_towards_the_supplier_minimum() -> None:
    asked = replace(FREE, minimum_order_minor=8400)
    flagged = replace(asked, reorder_id="R:2", flags=("no_demand_history",))

    found = reasons_to_wait([asked, flagged])

    assert found["R:1"][0].code == "below_minimum"
    assert [reason.code for reason in found["R:2"]] == ["flagged"]


def test_all_reasons_are_named_at_once() -> None:
    worst = replace(FREE, auto_max_minor=0, flags=("a",), supplier=None, unchanged_us=0)

    assert [reason.code for reason in own_reasons(worst)] == [
        "no_limit",
        "flagged",
        "no_supplier",
        "unsettled",
    ]


@pytest.fixture
def due(ledger: psycopg.Connection) -> str:
    """Write a need that meets every condition of an automatic order. Return its id."""
    ledger.execute("DELETE FROM read_model.heartbeat")
    ledger.execute("DELETE FROM read_model.sink_position")
    alive(ledger)
    return need(ledger, "S")


def alive(ledger: psycopg.Connection, *, seconds_ago: int = 1) -> None:
    ledger.execute(
        "INSERT INTO read_model.heartbeat (partition, beat, commit_us, applied_at) VALUES (0, 1,"
        " (extract(epoch FROM now() - make_interval(secs => %(s)s)) * 1000000)::bigint, now())"
        " ON CONFLICT (partition) DO UPDATE SET commit_us = excluded.commit_us",
        {"s": seconds_ago},
    )
    ledger.execute(
        "INSERT INTO read_model.service_heartbeat (service, pid, at) VALUES ('actuator', 1, now())"
        " ON CONFLICT (service) DO UPDATE SET at = excluded.at"
    )


def need(ledger: psycopg.Connection, sku: str, **policy: object) -> str:
    """Write an item with an open need of 42 units, also in the read model. Return the need's id."""
    given = {"supplier": "ACME", "pack_units": 6, "cost_minor": 100, "auto_max_minor": 4200}
    services.range_item(location="L", sku=sku, policy=given | policy)
    key = f"L|{sku}"
    reorder_id = reorder_proposal(
        ledger, reorder_id=f"R:{key}:1-2", inv_key=key, sku=sku, updated_at="2026-03-02 12:00+00"
    )
    ledger.execute(
        "INSERT INTO read_model.stock (inv_key, location, sku, on_hand_units, unavailable_units,"
        " on_order_units, in_transit_units, allocated_units, available_to_sell_units, stock_known,"
        " base_position_units, requested_units, price_step, episode_state, reorder_id,"
        ' policy_active, generation, partition, "offset", logic_revision, as_of_us, state)'
        " VALUES (%s, 'L', %s, 20, 0, 0, 0, 0, 20, true, 20, 42, 0, 'open', %s, true, 1, 0, 1, 1,"
        " (extract(epoch FROM now()) * 1000000)::bigint, '{}')",
        [key, sku, reorder_id],
    )
    return reorder_id


def lines(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT reorder_id, ordered_units, status, recorded_by, order_ref"
        " FROM retail.purchase_order_line ORDER BY id"
    ).fetchall()


def test_need_that_meets_all_conditions_is_ordered_and_sent_automatically(
    ledger: psycopg.Connection, due: str
) -> None:
    services.set_policy(location="L", sku="S", changes={"lead_time_centidays": 300})

    assert approve_due() == 1
    assert approve_due() == 0

    [(reorder_id, units, status, who, order_ref)] = lines(ledger)
    assert (reorder_id, units, status, who) == (due, 42, "sent", None)
    assert ledger.execute(
        "SELECT decided_action, decided_by, decided_units FROM app.reorder_proposal"
    ).fetchone() == ("approve", None, 42)
    assert ledger.execute(
        "SELECT order_ref, is_automatic, sent_at IS NOT NULL FROM app.purchase_order"
    ).fetchall() == [(order_ref, True, True)]
    assert ledger.execute(
        "SELECT detail ->> 'automatic' FROM app.action_log WHERE action = 'approve'"
    ).fetchone() == ("true",)
    assert ledger.execute(
        "SELECT due_on - ordered_at::date FROM retail.purchase_order_line"
    ).fetchone() == (3,)


@pytest.mark.parametrize(
    "spoil",
    [
        "UPDATE retail.item_location SET auto_max_minor = 0",
        "UPDATE retail.item_location SET status = 'exit'",
        "UPDATE retail.item_location SET cost_minor = 101",
        "UPDATE app.reorder_proposal SET flags = '{cover_over_guard}'",
        "UPDATE app.reorder_proposal SET updated_at = now()",
        "UPDATE app.reorder_proposal SET status = 'snoozed'",
        "UPDATE app.reorder_proposal SET decided_action = 'reject'",
        "UPDATE read_model.stock SET as_of_us = as_of_us - 61000000",
        "UPDATE read_model.stock SET requested_units = 48",
        "UPDATE read_model.stock SET reorder_id = 'R:other'",
        "DELETE FROM read_model.stock",
        "UPDATE read_model.heartbeat SET commit_us = commit_us - 61000000",
        "UPDATE read_model.heartbeat SET commit_us = NULL",
        "DELETE FROM read_model.heartbeat",
        (
            "INSERT INTO retail.pipeline_heartbeat (inv_key, location, sku, beat, occurred_at)"
            " SELECT '~heartbeat|' || n, '~heartbeat', n, 1, now() FROM generate_series(1, 2) n"
        ),
        "UPDATE read_model.service_heartbeat SET at = at - interval '61 seconds'",
        "DELETE FROM read_model.service_heartbeat",
        "INSERT INTO retail.supplier (code, name, is_active) VALUES ('ACME', 'A', false)",
        "INSERT INTO retail.supplier (code, name, minimum_order_minor) VALUES ('ACME', 'A', 4201)",
    ],
)
def test_automatic_order_reads_each_condition_from_its_table(
    ledger: psycopg.Connection, due: str, spoil: str
) -> None:
    ledger.execute(spoil)

    assert approve_due() == 0
    assert lines(ledger) == []


def test_a_group_below_the_minimum_waits_until_it_reaches_it(
    ledger: psycopg.Connection, due: str
) -> None:
    ledger.execute(
        "INSERT INTO retail.supplier (code, name, minimum_order_minor) VALUES ('ACME', 'A', 8400)"
    )
    assert approve_due() == 0
    assert [reason.code for reason in why_not([due])[due]] == ["below_minimum"]

    need(ledger, "T")

    assert why_not([due]) == {due: ()}
    assert approve_due() == 2
    assert len({line[4] for line in lines(ledger)}) == 1


def test_a_need_without_a_supplier_waits_for_this_reason(
    ledger: psycopg.Connection, due: str
) -> None:
    ledger.execute("UPDATE retail.item_location SET supplier = NULL")
    ledger.execute("UPDATE app.reorder_proposal SET supplier = NULL")

    assert [reason.code for reason in why_not([due])[due]] == ["no_supplier"]


def test_approve_due_orders_whole_groups_within_its_limit(
    ledger: psycopg.Connection, due: str
) -> None:
    need(ledger, "T")
    for sku in ("U", "V"):
        need(ledger, sku, supplier="BALTIC")
        ledger.execute("UPDATE app.reorder_proposal SET supplier = 'BALTIC' WHERE sku = %s", [sku])

    assert [approve_due(limit=3), approve_due(limit=3), approve_due(limit=3)] == [2, 2, 0]


def test_approve_due_does_not_split_a_group_larger_than_its_limit(
    ledger: psycopg.Connection, due: str
) -> None:
    need(ledger, "T")
    need(ledger, "U")

    assert [approve_due(limit=2), approve_due(limit=2)] == [3, 0]


def test_two_processes_order_a_need_once(ledger: psycopg.Connection, due: str) -> None:
    for number in range(10):
        need(ledger, f"T{number}")

    assert sum(at_the_same_time(*(approve_due for _ in range(3)))) == 11
    assert len(lines(ledger)) == 11


def test_a_person_and_the_rule_at_the_same_time_order_once(
    ledger: psycopg.Connection, due: str
) -> None:
    at_the_same_time(
        approve_due,
        lambda: services.approve_reorder(
            services.ApproveReorder(reorder_id=due, shown_revision=1), actor="ann"
        ),
    )

    assert len(lines(ledger)) == 1


@pytest.mark.parametrize("day", [None, "2026-03-02"])
def test_automatic_order_neither_sends_manual_drafts_nor_waits_for_them(
    ledger: psycopg.Connection, due: str, day: str | None
) -> None:
    mine = need(ledger, "T", auto_max_minor=0)
    services.approve_reorder(
        services.ApproveReorder(reorder_id=mine, shown_revision=1), actor="ann"
    )
    ledger.execute("UPDATE retail.purchase_order_line SET due_on = %s", [day])

    assert approve_due() == 1

    assert [(line[0], line[2]) for line in lines(ledger)] == [(mine, "draft"), (due, "sent")]


def test_a_decided_need_has_no_reason_to_wait(ledger: psycopg.Connection, due: str) -> None:
    services.approve_reorder(services.ApproveReorder(reorder_id=due, shown_revision=1))

    assert why_not([due]) == why_not([]) == {}


def test_need_with_a_new_snooze_is_not_ordered_automatically(
    ledger: psycopg.Connection, due: str
) -> None:
    services.snooze_reorder(reorder_id=due, shown_revision=1, actor="ann")

    assert approve_due() == 0

    # The workers have processed the snooze, and it has ended, so the need is open again.
    ledger.execute("UPDATE app.reorder_proposal SET decided_at = updated_at - interval '1 day'")
    assert approve_due() == 1
