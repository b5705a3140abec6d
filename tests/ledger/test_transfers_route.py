"""Limits of a transfer: both ends have the item, the day is not past, the units exist."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from typing import Any

import psycopg
import pytest

from ledger import services
from ledger.services import Route, ServiceError, Transfer
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import NOON, reorder_proposal
from tests.ledger.stocked import stocked

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def ends(ledger: psycopg.Connection) -> psycopg.Connection:
    """Stock DC-1 with 30 and L with 5 units of S. M has another item, N has no item."""
    stocked("DC-1", units=30)
    stocked("L", units=5)
    stocked("M", sku="OTHER")
    services.name_locations(names={"N": "New store"})
    return ledger


def plan(units: int = 6, **changes: Any) -> Transfer:
    given: dict[str, Any] = {"source": "DC-1", "destination": "L", "sku": "S"}
    return services.plan_transfer(route=Route(**given | changes, units=units), actor="ann")


def ship(units: int = 6, **changes: Any) -> Transfer:
    given: dict[str, Any] = {"source": "DC-1", "destination": "L", "sku": "S"}
    beyond = bool(changes.pop("beyond_stock_allowed", False))
    shipped_at = changes.pop("shipped_at", None)
    route = Route(**given | changes, units=units)
    return services.ship_transfer(
        services.ShipTransfer(route, shipped_at, beyond_stock_allowed=beyond), actor="ann"
    )


def today(ledger: psycopg.Connection) -> date:
    found = ledger.execute("SELECT (now() AT TIME ZONE 'UTC')::date").fetchone()
    assert found is not None
    day: date = found[0]
    return day


def written(ledger: psycopg.Connection) -> int:
    found = ledger.execute("SELECT count(*) FROM retail.shipment_line").fetchone()
    assert found is not None
    return int(found[0])


@pytest.mark.parametrize("way", [plan, ship])
@pytest.mark.parametrize(
    ("changes", "field", "value", "rule"),
    [
        ({"sku": "NOPE"}, "sku", "NOPE", "no location has this item in its range: check the SKU"),
        ({"source": "NOWHERE"}, "source", "NOWHERE", "no such location: check its code"),
        ({"destination": "NOWHERE"}, "destination", "NOWHERE", "no such location: check its code"),
        ({"source": "M"}, "source", "M", "this location doesn't have S in its range"),
        ({"destination": "M"}, "destination", "M", "this location doesn't have S in its range"),
        ({"destination": "N"}, "destination", "N", "this location doesn't have S in its range"),
        ({"destination": "DC-1"}, "destination", "DC-1", "must differ from the location"),
    ],
)
def test_a_transfer_needs_two_different_locations_that_range_the_item(
    ledger: psycopg.Connection,
    way: Callable[..., Transfer],
    changes: dict[str, str],
    field: str,
    value: str,
    rule: str,
) -> None:
    with pytest.raises(ServiceError, match=rule) as refusal:
        way(**changes)

    assert (refusal.value.field, refusal.value.value) == (field, value)
    assert written(ledger) == 0


@pytest.mark.parametrize("way", [plan, ship])
def test_a_transfer_is_due_today_or_later(
    ledger: psycopg.Connection, way: Callable[..., Transfer]
) -> None:
    for past in (date(1999, 1, 1), today(ledger) - DAY):
        with pytest.raises(ServiceError, match="not before") as refusal:
            way(due_on=past)
        assert (refusal.value.field, refusal.value.value) == ("due_on", past)
    assert written(ledger) == 0

    way(due_on=today(ledger))

    assert written(ledger) == 2


def test_a_backdated_shipment_may_be_due_from_its_shipping_day(ledger: psycopg.Connection) -> None:
    left = datetime(2026, 3, 2, 0, 30, tzinfo=UTC)

    with pytest.raises(ServiceError, match="not before 2026-03-02"):
        ship(shipped_at=left, due_on=left.date() - DAY)
    ship(shipped_at=left, due_on=left.date())

    assert written(ledger) == 2


@pytest.mark.parametrize("way", [plan, ship])
def test_a_transfer_has_at_most_the_on_hand_units_of_its_source(
    ledger: psycopg.Connection, way: Callable[..., Transfer]
) -> None:
    for units in (999_999, 31):
        with pytest.raises(
            ServiceError, match="at most 30: DC-1 has 30 units of S on hand"
        ) as refusal:
            way(units)
        assert (refusal.value.field, refusal.value.value) == ("units", units)
    assert written(ledger) == 0

    way(30)

    assert written(ledger) == 2


def test_promised_units_cannot_be_promised_again(ledger: psycopg.Connection) -> None:
    services.set_policy(location="DC-1", sku="S", changes={"allocated_units": 4})
    plan(20)

    with pytest.raises(ServiceError, match=r"at most 6: .* has promised 24"):
        plan(7)
    first = plan(6)

    with pytest.raises(ServiceError, match="at most 0"):
        plan(1)
    services.cancel_transfer(shipment_line_id=first.in_id)
    plan(6)
    assert written(ledger) == 4


def test_transferable_stock_follows_the_latest_count(ledger: psycopg.Connection) -> None:
    ship(20)
    services.approve_count(services.ApproveCount(location="DC-1", sku="S", units=7))

    with pytest.raises(ServiceError, match="at most 7"):
        plan(8)
    plan(7)


def test_stock_below_zero_sends_nothing(ledger: psycopg.Connection) -> None:
    ship(33, beyond_stock_allowed=True)

    with pytest.raises(ServiceError, match="at most 0: DC-1 has -3 units of S on hand"):
        plan(1)


@pytest.mark.parametrize("second", [plan, ship])
@pytest.mark.parametrize("first", [plan, ship])
def test_two_transfers_at_once_do_not_take_the_same_units(
    ledger: psycopg.Connection, first: Callable[..., Transfer], second: Callable[..., Transfer]
) -> None:
    outcomes = at_the_same_time(lambda: first(20), lambda: second(20))

    assert sum(isinstance(outcome, ServiceError) for outcome in outcomes) == 1
    assert written(ledger) == 2


def test_two_plans_are_not_shipped_at_once_with_the_same_units(ledger: psycopg.Connection) -> None:
    planned = [plan(10), plan(10)]

    outcomes = at_the_same_time(
        *(
            lambda one=one: services.ship_planned_transfer(shipment_line_id=one.in_id, units=20)
            for one in planned
        )
    )

    assert sum(isinstance(outcome, ServiceError) for outcome in outcomes) == 1


def test_a_plan_can_be_shipped_with_up_to_its_own_promised_units(
    ledger: psycopg.Connection,
) -> None:
    mine, theirs = plan(10), plan(20)

    with pytest.raises(ServiceError, match=r"at most 10: .* or confirm that more units were sent"):
        services.ship_planned_transfer(shipment_line_id=mine.in_id, units=11)
    services.ship_planned_transfer(shipment_line_id=mine.in_id, units=10)
    services.ship_planned_transfer(shipment_line_id=theirs.out_id, units=20)

    found = ledger.execute("SELECT DISTINCT status FROM retail.shipment_line").fetchall()
    assert found == [("shipped",)]


def test_confirmed_shipments_beyond_the_stock_are_recorded(ledger: psycopg.Connection) -> None:
    planned = plan(10)

    services.ship_planned_transfer(
        shipment_line_id=planned.in_id, units=31, beyond_stock_allowed=True
    )
    ship(5, beyond_stock_allowed=True)

    found = ledger.execute(
        "SELECT shipped_units FROM retail.shipment_line WHERE leg = 'transfer_out' ORDER BY id"
    ).fetchall()
    assert found == [(31,), (5,)]


def test_a_plan_of_an_item_that_left_the_range_can_still_be_shipped(
    ledger: psycopg.Connection,
) -> None:
    planned = plan(10)
    ledger.execute("DELETE FROM retail.item_location WHERE inv_key = 'DC-1|S'")

    services.ship_planned_transfer(shipment_line_id=planned.in_id, units=10)

    assert written(ledger) == 2


def test_a_refused_route_leaves_the_need_open(ledger: psycopg.Connection) -> None:
    need = reorder_proposal(ledger)

    with pytest.raises(ServiceError, match="at most 30"):
        services.plan_transfer(route=Route("DC-1", "L", "S", 31), reorder_id=need, actor="ann")

    assert ledger.execute("SELECT decided_action FROM app.reorder_proposal").fetchone() == (None,)
    services.plan_transfer(route=Route("DC-1", "L", "S", 30), reorder_id=need, actor="ann")
    assert written(ledger) == 2


def test_more_units_than_were_sent_can_be_received(ledger: psycopg.Connection) -> None:
    sent = ship(6, shipped_at=NOON)
    arrived = services.Delivered(7, discrepancy_reason="one more in the box")

    assert services.receive_transfer(shipment_line_id=sent.in_id, delivered=arrived) == -1
