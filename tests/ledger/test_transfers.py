"""Transfers: two rows in one transaction, the allowed steps, and concurrent people."""

from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.services import Conflict, Delivered, Route, ServiceError, Transfer
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import NOON, reorder_proposal
from tests.ledger.stocked import stocked

WAY = Route("DC-1", "L", "S", 6, date(2099, 3, 5))


@pytest.fixture(autouse=True)
def ends(ledger: psycopg.Connection) -> None:
    stocked("DC-1", "L")


def rows(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT inv_key, leg, status, planned_units, shipped_units, received_units, damaged_units"
        " FROM retail.shipment_line ORDER BY id"
    ).fetchall()


def shipped(units: int = 6) -> Transfer:
    return services.ship_transfer(
        services.ShipTransfer(services.Route("DC-1", "L", "S", units)), actor="ann"
    )


@pytest.mark.domain("7 transfer")
def test_a_planned_transfer_writes_both_legs_and_moves_no_units(
    ledger: psycopg.Connection,
) -> None:
    services.plan_transfer(route=WAY, actor="ann")

    assert rows(ledger) == [
        ("DC-1|S", "transfer_out", "planned", 6, 0, 0, 0),
        ("L|S", "transfer_in", "planned", 6, 0, 0, 0),
    ]


@pytest.mark.parametrize("row", ["out_id", "in_id"])
def test_a_planned_transfer_can_be_shipped_with_fewer_units(
    ledger: psycopg.Connection, row: str
) -> None:
    transfer = services.plan_transfer(route=WAY)

    services.ship_planned_transfer(shipment_line_id=getattr(transfer, row), units=5)

    assert rows(ledger) == [
        ("DC-1|S", "transfer_out", "shipped", 6, 5, 0, 0),
        ("L|S", "transfer_in", "shipped", 6, 5, 0, 0),
    ]


def test_a_planned_transfer_can_be_cancelled_and_leaves_nothing(ledger: psycopg.Connection) -> None:
    transfer = services.plan_transfer(route=WAY)

    services.cancel_transfer(shipment_line_id=transfer.out_id, actor="ann")

    assert rows(ledger) == []
    with pytest.raises(Conflict, match="does not exist"):
        services.ship_planned_transfer(shipment_line_id=transfer.out_id, units=6)


def test_a_shipped_transfer_is_neither_shipped_again_nor_cancelled(
    ledger: psycopg.Connection,
) -> None:
    transfer = shipped()

    with pytest.raises(Conflict, match="shipped already: 6 units, recorded by ann"):
        services.ship_planned_transfer(shipment_line_id=transfer.in_id, units=6)
    with pytest.raises(Conflict, match="shipped already"):
        services.cancel_transfer(shipment_line_id=transfer.in_id)


def test_a_planned_transfer_cannot_be_received(ledger: psycopg.Connection) -> None:
    transfer = services.plan_transfer(route=WAY)

    with pytest.raises(Conflict, match="not been shipped"):
        services.receive_transfer(shipment_line_id=transfer.in_id, delivered=Delivered(6))


@pytest.mark.domain("7 transfer")
@pytest.mark.parametrize(
    ("received", "damaged", "lost"), [(6, 0, 0), (5, 1, 0), (4, 1, 1), (8, 0, -2), (0, 0, 6)]
)
def test_lost_units_are_shipped_minus_received_and_damaged_units(
    ledger: psycopg.Connection, received: int, damaged: int, lost: int
) -> None:
    transfer = shipped()
    delivered = Delivered(received, damaged, discrepancy_reason="torn" if lost else None)

    assert (
        services.receive_transfer(shipment_line_id=transfer.in_id, delivered=delivered, actor="bob")
        == lost
    )
    assert rows(ledger)[1][2:] == ("received", 6, 6, received, damaged)


@pytest.mark.parametrize("received", [5, 7])
def test_lost_or_found_units_need_a_reason(ledger: psycopg.Connection, received: int) -> None:
    transfer = shipped()

    with pytest.raises(ServiceError, match="give a reason"):
        services.receive_transfer(
            shipment_line_id=transfer.in_id,
            delivered=Delivered(received, discrepancy_reason="  "),
        )


def test_a_transfer_answers_a_reorder_once(ledger: psycopg.Connection) -> None:
    need = reorder_proposal(ledger)
    services.plan_transfer(route=WAY, reorder_id=need, actor="ann")

    with pytest.raises(Conflict, match="ann has already approved this proposal"):
        services.plan_transfer(route=WAY, reorder_id=need)
    assert len(rows(ledger)) == 2


def test_a_need_is_not_both_transferred_and_ordered(ledger: psycopg.Connection) -> None:
    services.set_policy(location="L", sku="S", changes={"supplier": "ACME", "pack_units": 6})
    need = reorder_proposal(ledger)

    outcomes = at_the_same_time(
        lambda: services.ship_transfer(
            services.ShipTransfer(services.Route("DC-1", "L", "S", 6), reorder_id=need), actor="ann"
        ),
        lambda: services.approve_reorder(
            services.ApproveReorder(reorder_id=need, shown_revision=1), actor="bob"
        ),
    )

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1
    answers = ledger.execute(
        "SELECT reorder_id FROM retail.purchase_order_line UNION ALL"
        " SELECT reorder_id FROM retail.shipment_line WHERE reorder_id IS NOT NULL"
    ).fetchall()
    assert answers == [(need,)]


def test_a_transfer_answers_a_need_of_its_destination_only(ledger: psycopg.Connection) -> None:
    need = reorder_proposal(ledger, inv_key="M|S", location="M")

    with pytest.raises(ServiceError, match="a need of L"):
        services.plan_transfer(route=WAY, reorder_id=need)
    assert rows(ledger) == []


def test_the_same_plan_sent_twice_is_one_transfer(ledger: psycopg.Connection) -> None:
    command = uuid4()

    first, second = at_the_same_time(
        *[lambda: services.plan_transfer(route=WAY, command_id=command)] * 2
    )

    assert first == second
    assert len(rows(ledger)) == 2


@pytest.mark.parametrize(
    ("field", "route"),
    [
        ("destination", Route("L", "L", "S", 6)),
        ("destination", Route("DC-1", "l", "S", 6)),
        ("location", Route("dc", "L", "S", 6)),
        ("sku", Route("DC-1", "L", "a|b", 6)),
        ("units", Route("DC-1", "L", "S", 0)),
        ("units", Route("DC-1", "L", "S", 1_000_001)),
    ],
)
def test_a_wrong_route_names_its_field(
    ledger: psycopg.Connection, field: str, route: Route
) -> None:
    with pytest.raises(ServiceError) as refusal:
        services.plan_transfer(route=route)

    assert refusal.value.field == field


def received(delivered: Delivered, actor: str = "bob") -> Transfer:
    transfer = shipped()
    services.receive_transfer(shipment_line_id=transfer.in_id, delivered=delivered, actor=actor)
    return transfer


def test_a_receipt_correction_keeps_the_arrival_time_and_is_logged(
    ledger: psycopg.Connection,
) -> None:
    transfer = received(Delivered(6))
    before = ledger.execute(
        "SELECT received_at FROM retail.shipment_line WHERE id = %s", [transfer.in_id]
    ).fetchone()

    lost = services.correct_transfer_receipt(
        shipment_line_id=transfer.in_id,
        delivered=Delivered(4, 1, discrepancy_reason="one box short"),
        actor="bob",
    )

    assert lost == 1
    assert rows(ledger)[1][2:] == ("received", 6, 6, 4, 1)
    after = ledger.execute(
        "SELECT received_at FROM retail.shipment_line WHERE id = %s", [transfer.in_id]
    ).fetchone()
    assert after == before
    logged = ledger.execute(
        "SELECT action, detail -> 'received' FROM app.action_log WHERE subject = 'L|S'"
        " AND actor = 'bob' ORDER BY id"
    ).fetchall()
    assert logged == [("receive", 6), ("correct_receipt", [6, 4])]


def test_another_persons_receipt_or_an_old_one_cannot_be_corrected(
    ledger: psycopg.Connection,
) -> None:
    theirs = received(Delivered(6))
    old = received(Delivered(6, received_at=NOON))

    with pytest.raises(ServiceError, match="only bob, who received this transfer"):
        services.correct_transfer_receipt(
            shipment_line_id=theirs.in_id, delivered=Delivered(6), actor="ann"
        )
    with pytest.raises(ServiceError, match="older than 48 h"):
        services.correct_transfer_receipt(
            shipment_line_id=old.in_id, delivered=Delivered(6), actor="bob"
        )


@pytest.mark.parametrize(("age", "is_allowed"), [(47.9, True), (48.1, False)])
def test_a_receipt_may_be_corrected_for_48_hours(
    ledger: psycopg.Connection, *, age: float, is_allowed: bool
) -> None:
    found = ledger.execute("SELECT clock_timestamp()").fetchone()
    assert found is not None
    transfer = received(Delivered(6, received_at=found[0] - timedelta(hours=age)))

    def correct() -> int:
        return services.correct_transfer_receipt(
            shipment_line_id=transfer.in_id, delivered=Delivered(5, 1), actor="bob"
        )

    if is_allowed:
        assert correct() == 0
    else:
        with pytest.raises(ServiceError, match="48 h"):
            correct()


def test_two_receipts_of_one_transfer_book_it_once(ledger: psycopg.Connection) -> None:
    transfer = shipped()

    results = at_the_same_time(
        lambda: services.receive_transfer(
            shipment_line_id=transfer.in_id, delivered=Delivered(6), actor="bob"
        ),
        lambda: services.receive_transfer(
            shipment_line_id=transfer.in_id, delivered=Delivered(5, 1), actor="cyd"
        ),
    )

    assert 0 in results
    (lost,) = (result for result in results if isinstance(result, Conflict))
    assert "already received" in lost.what_changed
    assert "by bob" in lost.what_changed or "by cyd" in lost.what_changed


def test_opposite_transfers_at_the_same_time_do_not_deadlock(
    ledger: psycopg.Connection,
) -> None:
    there = [services.plan_transfer(route=WAY) for _ in range(4)]
    back = [services.plan_transfer(route=Route("L", "DC-1", "S", 2)) for _ in range(4)]

    def ship(line_id: int) -> None:
        services.ship_planned_transfer(shipment_line_id=line_id, units=2)

    calls = [(lambda t=t: ship(t.out_id)) for t in there] + [
        (lambda t=t: ship(t.in_id)) for t in back
    ]
    results = at_the_same_time(
        *calls,
        lambda: services.ship_transfer(services.ShipTransfer(services.Route("L", "DC-1", "S", 1))),
        lambda: services.ship_transfer(services.ShipTransfer(services.Route("DC-1", "L", "S", 1))),
    )

    assert [result for result in results if isinstance(result, Exception)] == []


def test_when_a_transfer_is_shipped_and_cancelled_at_once_one_gets_a_conflict(
    ledger: psycopg.Connection,
) -> None:
    transfer = services.plan_transfer(route=WAY)

    results = at_the_same_time(
        lambda: services.ship_planned_transfer(shipment_line_id=transfer.in_id, units=6),
        lambda: services.cancel_transfer(shipment_line_id=transfer.out_id),
    )

    assert sum(isinstance(result, Conflict) for result in results) == 1
    statuses = {row[2] for row in rows(ledger)}
    assert statuses in (set(), {"shipped"})


def test_receiving_again_and_correcting_at_once_leave_one_receipt(
    ledger: psycopg.Connection,
) -> None:
    transfer = received(Delivered(6))

    results = at_the_same_time(
        lambda: services.receive_transfer(
            shipment_line_id=transfer.in_id, delivered=Delivered(5, 1), actor="cyd"
        ),
        lambda: services.correct_transfer_receipt(
            shipment_line_id=transfer.in_id,
            delivered=Delivered(4, 2),
            actor="bob",
        ),
    )

    assert isinstance(results[0], Conflict)
    assert results[1] == 0
    assert rows(ledger)[1][2:] == ("received", 6, 6, 4, 2)
