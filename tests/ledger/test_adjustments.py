"""Adjustments: direction by reason, value at cost, and two people above the limit."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from inventory.tables.stock_adjustment import REASONS as ADJUSTMENT_REASONS
from ledger import services
from ledger.counts import adjustments
from ledger.services import Adjust, Booked, Conflict, ServiceError, Waiting
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.outcomes import booked_id, request_id, waiting_request
from tests.ledger.rows import NOON, write


@pytest.fixture
def shelf(ledger: psycopg.Connection) -> psycopg.Connection:
    """Range L|S at a cost of 4.00 a unit. Adjustments above 100.00 need two people."""
    write(ledger, "item_location", cost_minor=400)
    ledger.execute("UPDATE app.setting SET adjustment_limit_minor = 10000")
    return ledger


def wanted(units: int = 25, **changes: Any) -> Adjust:
    given: dict[str, Any] = {"location": "L", "sku": "S", "reason": "theft"}
    given["quantity_units"] = units
    return Adjust(**(given | changes))


def booked(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT reason, quantity_units, recorded_by FROM retail.stock_adjustment ORDER BY id"
    ).fetchall()


def test_an_adjustment_worth_exactly_the_limit_is_booked_at_once(shelf: psycopg.Connection) -> None:
    asked = services.request_adjustment(wanted=wanted(25), actor="ann")

    assert asked == Booked(booked_id(asked), 10_000)
    assert booked(shelf) == [("theft", 25, "ann")]


def test_an_adjustment_above_the_limit_waits_for_a_second_person(shelf: psycopg.Connection) -> None:
    asked = services.request_adjustment(wanted=wanted(26, occurred_at=NOON), actor="ann")

    assert asked == Waiting(request_id(asked), 10_400)
    assert booked(shelf) == []
    with pytest.raises(ServiceError, match="another person"):
        services.approve_adjustment(request_id=asked.request_id, actor="ann")
    services.approve_adjustment(request_id=asked.request_id, actor="max")
    assert booked(shelf) == [("theft", 26, "max")]
    found = shelf.execute("SELECT occurred_at FROM retail.stock_adjustment").fetchone()
    assert found == (NOON,)


def test_without_a_known_cost_every_adjustment_waits(ledger: psycopg.Connection) -> None:
    services.name_products(names={"S": "Mug"})
    services.name_locations(names={"L": "Leeds"})
    asked = services.request_adjustment(wanted=wanted(1), actor="ann")

    assert asked == Waiting(request_id(asked), None)


def test_an_adjustment_limit_of_zero_always_needs_a_second_person(
    shelf: psycopg.Connection,
) -> None:
    services.set_adjustment_limit(limit_minor=0, actor="max")

    assert isinstance(services.request_adjustment(wanted=wanted(1), actor="ann"), Waiting)


def test_a_refused_request_is_never_booked(shelf: psycopg.Connection) -> None:
    request = waiting_request(wanted(1000), "ann")

    services.refuse_adjustment(request_id=request, reason="counted wrong", actor="max")

    with pytest.raises(Conflict, match="max has refused this request"):
        services.approve_adjustment(request_id=request, actor="moe")
    assert booked(shelf) == []


def test_two_approvals_of_one_request_book_it_once(shelf: psycopg.Connection) -> None:
    request = waiting_request(wanted(1000), "ann")

    results = at_the_same_time(
        lambda: services.approve_adjustment(request_id=request, actor="max"),
        lambda: services.approve_adjustment(request_id=request, actor="moe"),
    )

    assert sum(isinstance(result, Conflict) for result in results) == 1
    assert len(booked(shelf)) == 1


def test_the_same_request_sent_twice_is_booked_once(shelf: psycopg.Connection) -> None:
    command = uuid4()

    first, second = (
        services.request_adjustment(wanted=wanted(1), actor="ann", command_id=command)
        for _ in range(2)
    )

    assert first == second
    assert len(booked(shelf)) == 1


def test_an_adjustment_time_in_the_future_is_clamped_to_the_present(
    shelf: psycopg.Connection,
) -> None:
    found = shelf.execute("SELECT clock_timestamp()").fetchone()
    assert found is not None
    asked = services.request_adjustment(
        wanted=wanted(1000, occurred_at=found[0] + timedelta(minutes=4)), actor="ann"
    )

    row = shelf.execute(
        "SELECT occurred_at <= clock_timestamp() FROM app.adjustment_request WHERE id = %s",
        [request_id(asked)],
    ).fetchone()
    assert row == (True,)


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("reason", {"reason": "because"}),
        ("quantity_units", {"quantity_units": 0}),
        ("quantity_units", {"quantity_units": 1_000_001}),
        ("sku", {"sku": "a|b"}),
        ("location", {"location": "l"}),
        ("location", {"location": "LL"}),
        ("sku", {"sku": "S-1"}),
        ("note", {"note": "x" * 501}),
    ],
)
def test_an_invalid_adjustment_request_is_refused_with_its_field(
    shelf: psycopg.Connection, field: str, changes: dict[str, Any]
) -> None:
    services.name_products(names={"S": "Mug"})

    with pytest.raises(ServiceError) as refusal:
        services.request_adjustment(wanted=wanted(**changes), actor="ann")

    assert refusal.value.field == field


@pytest.mark.parametrize("reason", ADJUSTMENT_REASONS)
def test_an_adjustment_reason_has_the_same_sign_in_ledger_and_fold(
    shelf: psycopg.Connection, reason: str
) -> None:
    services.adjust(services.Adjust(location="L", sku="S", reason=reason, quantity_units=3))

    found = shelf.execute(
        "SELECT expected_units FROM app.expected_at('L|S', clock_timestamp(), 1)"
    ).fetchone()
    assert found == (3 * adjustments.on_hand_sign(reason),)
