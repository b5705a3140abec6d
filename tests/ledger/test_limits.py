# ruff: noqa: S608 -- the names of tables are literals of this file
"""Limits of docs/domain.md 0, 2.6 and 11.8 on both sides: in SQL, the fold and services.

One table of limits drives all three. SQL and the fold must agree on each value, because a row that
SQL accepts and the fold rejects would be stock that no page shows.
"""

import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from inventory.errors import COUNT_BEYOND_HORIZON
from inventory.fold.partition import Partition
from inventory.fold.record import Applied, Refused
from inventory.model.record import Record
from ledger import services
from ledger.kernel import checks
from ledger.services import Adjust, Delivered, Route, ServiceError
from tests.ledger.limits import (
    BILLION,
    CASES,
    HUNDRED_BILLION,
    LIMITS,
    MILLION,
    REQUIRED,
    STRICTER,
    TICK,
    Y2K,
    Case,
)
from tests.ledger.rows import NOON, VALID, write
from tests.ledger.stocked import stocked


def microseconds(value: object) -> object:
    if isinstance(value, str) and value.startswith(("1684", "1999", "2000", "2026", "2255")):
        value = datetime.fromisoformat(value)
    if not isinstance(value, datetime):
        return value
    elapsed = value - datetime(1970, 1, 1, tzinfo=UTC)
    return elapsed // timedelta(microseconds=1)


def fold_takes(table: str, changes: dict[str, Any]) -> bool:
    """Return True if the fold applies the row, or rejects it only for its age."""
    row = {"id": 1, "location": "L", "sku": "S", **VALID[table], **changes}
    row.setdefault("inv_key", f"{row['location']}|{row['sku']}")
    image = {name: microseconds(value) for name, value in row.items()}
    now_us = microseconds(NOON + timedelta(days=1))
    image["recorded_at"] = now_us
    assert isinstance(now_us, int)
    key = f"{row['location']}|{row['sku']}"
    record = Record(0, key, table, "c", None, image, 1, now_us)
    match Partition(1).apply(record):
        case Applied():
            return True
        case Refused(reason=reason):
            # An old count is rejected for its age. Its values are within the limits.
            return reason == COUNT_BEYOND_HORIZON
        case other:
            raise AssertionError(other)


def name(case: object) -> str:
    # An id must be equal in every process, but the text of a function contains its address.
    return str(getattr(case, "__name__", case))[:80]


@pytest.mark.parametrize("case", CASES, ids=name)
def test_sql_accepts_the_last_good_value_and_refuses_the_first_bad_one(
    till: psycopg.Connection, case: Case
) -> None:
    if case.is_good:
        assert write(till, case.table, **case.changes) > 0
    else:
        with pytest.raises(psycopg.errors.CheckViolation):
            write(till, case.table, **case.changes)


@pytest.mark.parametrize("case", CASES, ids=name)
def test_fold_accepts_and_refuses_the_same_values_as_sql(case: Case) -> None:
    if (case.table, case.changes) in STRICTER:
        pytest.skip("SQL is stricter here on purpose")

    assert fold_takes(case.table, case.changes) is case.is_good


@pytest.mark.parametrize(("table", "column"), REQUIRED)
def test_a_required_column_is_required_everywhere(
    till: psycopg.Connection, table: str, column: str
) -> None:
    with pytest.raises(psycopg.errors.NotNullViolation):
        write(till, table, **{column: None})
    assert not fold_takes(table, {column: None})


def test_sql_and_fold_call_the_same_characters_printable(till: psycopg.Connection) -> None:
    """Checks all of Unicode except code points that this Python doesn't know yet."""
    found = till.execute(
        "SELECT string_agg(pg_get_constraintdef(oid), ' ') FROM pg_constraint"
        " WHERE conrelid = 'retail.sale_line'::regclass AND contype = 'c'"
        " AND pg_get_constraintdef(oid) ~ 'sku !~'"
    ).fetchone()
    assert found is not None
    conditions = found[0].replace("CHECK", "AND").removeprefix("AND").replace(" AND AND", " AND")
    accepted = {
        row[0]
        for row in till.execute(
            "SELECT n FROM generate_series(1, 1114111) n, LATERAL (SELECT chr(n) AS sku) s"
            f" WHERE (n < 55296 OR n > 57343) AND n <> 32 AND ({conditions})"
        ).fetchall()
    }

    refused = set(range(1, 0x110000)) - accepted - {0x20} - set(range(0xD800, 0xE000))
    wrongly_taken = {n for n in accepted if checks.sku_problem(chr(n))}
    assert {unicodedata.category(chr(n)) for n in wrongly_taken} <= {"Cn"}
    assert {n for n in refused if checks.sku_problem(chr(n)) is None} == set()


def row(**given: Any) -> dict[str, Any]:
    return {"location": "L", "sku": "S", **given}


def sale(**changes: Any) -> object:
    given: dict[str, Any] = {"location": "L", "sku": "S", "quantity_units": 1, "amount_minor": 1}
    return services.record_sale(
        services.RecordSale(**given | {"source": "till", "source_ref": uuid4().hex} | changes)
    )


def sales(**changes: Any) -> object:
    given: dict[str, Any] = {"location": "L", "sku": "S", "quantity_units": 1, "amount_minor": 1}
    given |= {"source": "till", "source_ref": uuid4().hex, "occurred_at": NOON}
    return services.record_sales([services.RecordSale(**given | changes)])


def count(**changes: Any) -> object:
    return services.approve_count(services.ApproveCount(**row(units=1) | changes))


def adjustment(**changes: Any) -> object:
    given: dict[str, Any] = {"location": "L", "sku": "S", "reason": "theft", "quantity_units": 1}
    return services.adjust(services.Adjust(**given | changes))


def asked(**changes: Any) -> object:
    given: dict[str, Any] = {"location": "L", "sku": "S", "reason": "theft", "quantity_units": 1}
    wanted = Adjust(**given | changes)
    # An adjustment needs a location and a product of these codes.
    if checks.location_problem(wanted.location) is None:
        services.name_locations(names={wanted.location: ""})
    if checks.sku_problem(wanted.sku) is None:
        services.name_products(names={wanted.sku: ""})
    return services.request_adjustment(wanted=wanted, actor="ann")


def order(**changes: Any) -> object:
    given: dict[str, Any] = {"location": "L", "sku": "S", "supplier": "A", "order_ref": "1"}
    return services.place_order_line(
        services.PlaceOrderLine(**given | {"ordered_units": 1} | changes)
    )


def policy(**changes: Any) -> object:
    services.range_item(location="L", sku="S")
    return services.set_policy(location="L", sku="S", changes=changes)


def ranged(**changes: Any) -> object:
    return services.range_item(location="L", sku="S", policy=changes)


def receipt(**changes: Any) -> object:
    line = services.place_order_line(
        services.PlaceOrderLine(location="L", sku="S", supplier="A", order_ref="1", ordered_units=1)
    )
    given: dict[str, Any] = {"received_units": 0, "discrepancy_reason": "short"}
    return services.receive_shipment(
        purchase_order_line_id=line,
        delivered=Delivered(**given | changes),
    )


def transfer(**changes: Any) -> object:
    stocked("DC", "L", units=MILLION)
    given: dict[str, Any] = {"source": "DC", "destination": "L", "sku": "S", "units": 1}
    return services.plan_transfer(route=Route(**given | changes))


def price(**changes: Any) -> object:
    services.range_items(items=[services.RangedItem("L", "S", {})])
    return services.set_price(services.SetPrice(**row(price_minor=1) | changes))


Call = Callable[..., object]
SERVICES: list[tuple[Call, str, Any, Any]] = [
    *(
        case
        for call in (sale, sales)
        for case in (
            (call, "quantity_units", MILLION, MILLION + 1),
            (call, "quantity_units", -MILLION, -MILLION - 1),
            (call, "quantity_units", 1, 0),
            (call, "amount_minor", HUNDRED_BILLION, HUNDRED_BILLION + 1),
            (call, "amount_minor", -HUNDRED_BILLION, -HUNDRED_BILLION - 1),
            (call, "occurred_at", Y2K, Y2K - TICK),
            (call, "condition", "damaged", "lost"),
            (call, "source", "till-1", " "),
            (call, "source_ref", "1-1", ""),
        )
    ),
    *(
        case
        for call in (sale, sales, count, adjustment, asked, order)
        for case in (
            (call, "location", "A" * 24, "A" * 25),
            (call, "location", "A-9", "a"),
            (call, "location", "A", ""),
            (call, "sku", "x" * 32, "x" * 33),
            (call, "sku", "x", ""),
            (call, "sku", "a b", " a"),
            (call, "sku", "a b", "a "),
            (call, "sku", "a/b", "a|b"),
            (call, "sku", "é日", "a\u200b"),
        )
    ),
    (count, "units", 0, -1),
    (count, "units", MILLION, MILLION + 1),
    (count, "kind", "recount", "guess"),
    (count, "occurred_at", Y2K, Y2K - TICK),
    *(
        case
        for call in (adjustment, asked)
        for case in (
            (call, "quantity_units", 1, 0),
            (call, "quantity_units", MILLION, MILLION + 1),
            (call, "reason", "damage", "because"),
            (call, "occurred_at", Y2K, Y2K - TICK),
        )
    ),
    (order, "ordered_units", MILLION, MILLION + 1),
    (receipt, "received_units", 0, -1),
    (receipt, "received_units", MILLION, MILLION + 1),
    (receipt, "damaged_units", MILLION, MILLION + 1),
    (receipt, "received_at", Y2K, Y2K - TICK),
    (transfer, "units", 1, 0),
    (transfer, "units", MILLION, MILLION + 1),
    (price, "price_minor", BILLION, BILLION + 1),
    (price, "step", 2**31 - 1, 2**31),
    (price, "step", -(2**31), -(2**31) - 1),
]
POLICY = [
    (limit.column, good, bad, limit.also)
    for limit in LIMITS
    if limit.table == "item_location"
    for good, bad in ((limit.low, limit.low - 1), (limit.high, limit.high + 1))
]


@pytest.mark.parametrize(("call", "field", "good", "bad"), SERVICES, ids=name)
def test_a_service_takes_the_last_good_value_and_names_the_first_bad_one(
    ledger: psycopg.Connection, call: Call, field: str, good: Any, bad: Any
) -> None:
    with pytest.raises(ServiceError) as refusal:
        call(**{field: bad})
    call(**{field: good})

    assert refusal.value.field in (field, f"rows[0].{field}")
    assert refusal.value.value == bad
    assert refusal.value.rule


@pytest.mark.parametrize("call", [ranged, policy])
@pytest.mark.parametrize(("column", "good", "bad", "also"), POLICY, ids=name)
def test_a_policy_takes_the_last_good_value_and_names_the_first_bad_one(
    ledger: psycopg.Connection,
    call: Call,
    column: str,
    good: int,
    bad: int,
    also: dict[str, Any],
) -> None:
    with pytest.raises(ServiceError) as refusal:
        call(**also, **{column: bad})
    ledger.execute("DELETE FROM retail.item_location")
    call(**also, **{column: good})

    assert (refusal.value.field, refusal.value.value) == (column, bad)
    assert refusal.value.rule
