import secrets
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from deploy.stack.processes import wait_until
from ledger import services
from ledger.services import Conflict, RangedItem, RecordSale, ServiceError
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import NOON


def sale(number: int, **changes: Any) -> RecordSale:
    return RecordSale("L", "S", "till-1", str(number), 1, 999, NOON)._replace(**changes)


def test_a_sale_is_one_row_under_its_key(ledger: psycopg.Connection) -> None:
    sale_id = services.record_sale(
        services.RecordSale(
            location="L",
            sku="S",
            quantity_units=2,
            amount_minor=1998,
            source="till-1",
            source_ref="7",
            occurred_at=NOON,
        ),
        actor="associate",
    )

    found = ledger.execute(
        "SELECT id, inv_key, quantity_units, amount_minor, condition, recorded_by"
        " FROM retail.sale_line"
    ).fetchall()
    assert found == [(sale_id, "L|S", 2, 1998, "resaleable", "associate")]


def test_a_sale_that_a_till_sends_twice_is_refused(ledger: psycopg.Connection) -> None:
    given: dict[str, Any] = {"location": "L", "sku": "S", "quantity_units": 1, "amount_minor": 1}
    services.record_sale(services.RecordSale(**given, source="till-1", source_ref="7"))

    with pytest.raises(Conflict, match="recorded already"):
        services.record_sale(services.RecordSale(**given, source="till-1", source_ref="7"))

    assert ledger.execute("SELECT count(*) FROM retail.sale_line").fetchone() == (1,)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("quantity_units", 0),
        ("quantity_units", 1_000_001),
        ("quantity_units", True),
        ("amount_minor", 100_000_000_001),
        ("condition", "lost"),
        ("location", "l"),
        ("sku", "a|b"),
        ("sku", " a"),
        ("source", ""),
        ("occurred_at", datetime(1999, 12, 31, tzinfo=UTC)),
        ("occurred_at", datetime(2026, 1, 1)),  # noqa: DTZ001 -- a time without a zone is the case
    ],
)
def test_a_sale_with_a_forbidden_value_is_refused_with_its_field(
    ledger: psycopg.Connection, field: str, value: object
) -> None:
    given: dict[str, Any] = {
        "location": "L",
        "sku": "S",
        "quantity_units": 1,
        "amount_minor": 1,
        "source": "till-1",
        "source_ref": "7",
    }

    with pytest.raises(ServiceError) as refusal:
        services.record_sale(services.RecordSale(**given | {field: value}))

    assert (refusal.value.field, refusal.value.value) == (field, value)
    assert ledger.execute("SELECT count(*) FROM retail.sale_line").fetchone() == (0,)


@pytest.mark.parametrize("field", ["source", "source_ref"])
def test_a_reference_too_long_for_the_index_is_refused(
    ledger: psycopg.Connection, field: str
) -> None:
    long = secrets.token_hex(4_000)  # Postgres can't compress it below its limit

    with pytest.raises(ServiceError, match="a value can't be stored"):
        services.record_sale(sale(7, **{field: long}))
    with pytest.raises(ServiceError, match="a value can't be stored"):
        services.record_sales([sale(8), sale(7, **{field: long})])

    assert ledger.execute("SELECT count(*) FROM retail.sale_line").fetchone() == (0,)


def test_a_batch_keeps_its_order_and_skips_sales_recorded_before(
    ledger: psycopg.Connection,
) -> None:
    first = services.record_sales([sale(n) for n in range(100)])
    second = services.record_sales([sale(n) for n in range(50, 150)])

    assert (first, second) == ((100, 0), (50, 50))
    refs = ledger.execute("SELECT source_ref FROM retail.sale_line ORDER BY id").fetchall()
    assert refs == [(str(n),) for n in range(150)]


def test_a_batch_with_one_bad_row_writes_nothing_and_names_the_row(
    ledger: psycopg.Connection,
) -> None:
    with pytest.raises(ServiceError, match=r"rows\[1\]\.quantity_units"):
        services.record_sales([sale(1), sale(2, quantity_units=0)])

    assert ledger.execute("SELECT count(*) FROM retail.sale_line").fetchone() == (0,)


def test_ranging_an_item_writes_an_opening_count_of_zero(ledger: psycopg.Connection) -> None:
    services.range_item(location="L", sku="S", policy={"pack_units": 6, "endings": [49, 99]})

    assert ledger.execute("SELECT units, kind, status FROM retail.stock_count").fetchall() == [
        (0, "opening", "approved")
    ]
    assert ledger.execute(
        "SELECT pack_units, endings, ladder_permille, clock_mode FROM retail.item_location"
    ).fetchone() == (6, [49, 99], [100, 200, 300, 500], "live")


def test_an_item_is_ranged_once_and_counted_once(ledger: psycopg.Connection) -> None:
    services.range_item(location="L", sku="S", opening_units=7)

    with pytest.raises(Conflict, match="ranged already"):
        services.range_item(location="L", sku="S", opening_units=9)

    assert services.range_items(items=[RangedItem("L", "S", {}), RangedItem("L", "T", {})]) == 1
    counts = ledger.execute("SELECT sku, units FROM retail.stock_count ORDER BY sku").fetchall()
    assert counts == [("S", 7), ("T", 0)]


def test_an_item_given_twice_in_one_call_gets_the_first_policy_and_count(
    ledger: psycopg.Connection,
) -> None:
    given = [RangedItem("L", "S", {"pack_units": n}, n) for n in (7, 9)]

    assert services.range_items(items=given) == 1

    policies = ledger.execute("SELECT inv_key, pack_units FROM retail.item_location").fetchall()
    counts = ledger.execute("SELECT inv_key, units FROM retail.stock_count").fetchall()
    assert (policies, counts) == ([("L|S", 7)], [("L|S", 7)])


def test_an_item_ranged_by_two_calls_at_once_is_counted_once(ledger: psycopg.Connection) -> None:
    def range_one() -> int:
        return services.range_items(items=[RangedItem("L", "S", {})])

    def both_wait() -> bool:
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted"
        return ledger.execute(waiting).fetchone() == (2,)

    with ThreadPoolExecutor(1) as pool:
        with ledger.transaction():
            # Reads pass this lock, so each call has looked for the item before one writes it.
            ledger.execute("LOCK TABLE retail.item_location IN EXCLUSIVE MODE")
            both = pool.submit(at_the_same_time, range_one, range_one)
            assert wait_until(both_wait, timeout_s=60)
        assert sorted(both.result(60)) == [0, 1]

    assert ledger.execute("SELECT inv_key FROM retail.stock_count").fetchall() == [("L|S",)]


def test_an_item_ranged_without_opening_units_has_no_count(ledger: psycopg.Connection) -> None:
    services.range_item(location="L", sku="S", opening_units=None)

    assert ledger.execute("SELECT count(*) FROM retail.stock_count").fetchone() == (0,)


def test_an_unknown_policy_column_is_refused(ledger: psycopg.Connection) -> None:
    with pytest.raises(ServiceError, match="pack_size"):
        services.range_item(location="L", sku="S", policy={"pack_size": 6})


def test_a_policy_change_returns_and_logs_the_changed_columns(ledger: psycopg.Connection) -> None:
    services.range_item(location="L", sku="S", policy={"pack_units": 6})

    moved = services.set_policy(
        location="L", sku="S", changes={"pack_units": 12, "moq_units": 0}, actor="buyer"
    )

    assert moved == {"pack_units": [6, 12]}
    logged = ledger.execute(
        "SELECT actor, detail FROM app.action_log WHERE action = 'policy'"
    ).fetchall()
    assert logged == [("buyer", {"pack_units": [6, 12]})]


def test_a_policy_that_breaks_a_check_is_a_service_error(ledger: psycopg.Connection) -> None:
    services.range_item(location="L", sku="S")

    with pytest.raises(ServiceError, match="order_up_to_units: above reorder_point_units"):
        services.set_policy(location="L", sku="S", changes={"replenish_family": "sS"})


def test_a_count_given_twice_with_one_command_is_one_count(ledger: psycopg.Connection) -> None:
    command = uuid4()
    first = services.approve_count(
        services.ApproveCount(location="L", sku="S", units=5), command_id=command
    )
    second = services.approve_count(
        services.ApproveCount(location="L", sku="S", units=5), command_id=command
    )

    assert first == second
    assert ledger.execute("SELECT count(*) FROM retail.stock_count").fetchone() == (1,)


def test_a_count_can_be_voided_once_and_only_within_48_hours(ledger: psycopg.Connection) -> None:
    young = services.approve_count(services.ApproveCount(location="L", sku="S", units=5))
    old = services.approve_count(
        services.ApproveCount(
            location="L",
            sku="S",
            units=5,
            occurred_at=datetime.now(UTC) - timedelta(days=3),  # noqa: TID251 -- the rule compares with the clock
        )
    )

    services.void_count(count_id=young, actor="manager", reason="miscounted")

    with pytest.raises(Conflict, match=f"manager has made count {young} void already, 20"):
        services.void_count(count_id=young, reason="again")
    with pytest.raises(ServiceError, match="48"):
        services.void_count(count_id=old, reason="late")


def test_an_adjustment_needs_a_known_reason_and_a_quantity(ledger: psycopg.Connection) -> None:
    services.adjust(
        services.Adjust(location="L", sku="S", reason="theft", quantity_units=2), actor="manager"
    )

    with pytest.raises(ServiceError, match="reason"):
        services.adjust(services.Adjust(location="L", sku="S", reason="because", quantity_units=2))
    with pytest.raises(ServiceError, match="quantity_units"):
        services.adjust(services.Adjust(location="L", sku="S", reason="theft", quantity_units=0))

    assert ledger.execute(
        "SELECT reason, quantity_units, recorded_by FROM retail.stock_adjustment"
    ).fetchall() == [("theft", 2, "manager")]
