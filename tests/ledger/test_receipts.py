"""Receipts of goods: several deliveries, refused goods, corrections, concurrent people."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.kernel.checks import is_correctable
from ledger.services import Conflict, Delivered, LineReceipt, ServiceError
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import NOON, write


def order(units: int = 10, actor: str | None = None, **changes: Any) -> int:
    given: dict[str, Any] = {"location": "L", "sku": "S", "supplier": "ACME", "order_ref": "X-1"}
    return services.place_order_line(
        services.PlaceOrderLine(**given | {"ordered_units": units} | changes), actor=actor
    )


def receive(line_id: int, units: int, damaged: int = 0, **more: Any) -> int:
    return services.receive_shipment(
        purchase_order_line_id=line_id, delivered=Delivered(units, damaged), **more
    )


def receipts(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT received_units, damaged_units, order_units, discrepancy_reason"
        " FROM retail.shipment_line WHERE status = 'received' ORDER BY id"
    ).fetchall()


def status(ledger: psycopg.Connection, line_id: int) -> str:
    found = ledger.execute(
        "SELECT status FROM retail.purchase_order_line WHERE id = %s", [line_id]
    ).fetchone()
    assert found is not None
    return str(found[0])


def test_last_receipt_closes_the_line_and_later_units_add_only_to_stock(
    ledger: psycopg.Connection,
) -> None:
    line_id = order()

    receive(line_id, 4)
    assert status(ledger, line_id) == "sent"
    receive(line_id, 5, 1)
    assert status(ledger, line_id) == "closed"
    receive(line_id, 3)

    assert [row[:3] for row in receipts(ledger)] == [(4, 0, 4), (5, 1, 6), (3, 0, 0)]


def test_second_receipt_of_an_outdated_order_line_gets_a_conflict(
    ledger: psycopg.Connection,
) -> None:
    line_id = order()

    outcomes = at_the_same_time(
        *(
            lambda actor=actor: receive(line_id, 10, shown_open_units=10, actor=actor)
            for actor in ("ann", "bob")
        )
    )

    [loser] = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert "had 10 units open when it was shown, and has 0 open now" in loser.what_changed
    assert "has received 10" in loser.what_changed
    assert [row[:3] for row in receipts(ledger)] == [(10, 0, 10)]


def test_simultaneous_receipts_reduce_open_units_to_exactly_zero(
    ledger: psycopg.Connection,
) -> None:
    line_id = order()

    at_the_same_time(*(lambda: receive(line_id, 4) for _ in range(5)))

    assert sum(row[2] for row in receipts(ledger)) == 10
    assert sum(row[0] for row in receipts(ledger)) == 20
    assert status(ledger, line_id) == "closed"


@pytest.mark.domain("7 shipped; received")
def test_refused_delivery_records_its_reason_and_leaves_the_order_open(
    ledger: psycopg.Connection,
) -> None:
    line_id = order()
    shipment = services.ship_order_line(line_id=line_id, shipped_units=10)
    with pytest.raises(ServiceError, match="reason"):
        services.refuse_delivery(line_id=line_id, shipment_line_id=shipment, reason=" ")

    services.refuse_delivery(line_id=line_id, shipment_line_id=shipment, reason="wet boxes")

    assert receipts(ledger) == [(0, 0, 0, "refused: wet boxes")]
    assert status(ledger, line_id) == "sent"


def test_receipt_of_zero_units_needs_a_reason(ledger: psycopg.Connection) -> None:
    with pytest.raises(ServiceError, match="discrepancy_reason"):
        receive(order(), 0)


def test_a_delivery_of_several_lines_is_received_together_or_not_at_all(
    ledger: psycopg.Connection,
) -> None:
    first, second = order(), order(6, sku="T")
    receive(second, 2)
    both = [
        LineReceipt(second, Delivered(6), shown_open_units=6),
        LineReceipt(first, Delivered(10), shown_open_units=10),
    ]
    with pytest.raises(Conflict, match="has 4 open now"):
        services.receive_order(receipts=both, actor="ann")
    assert len(receipts(ledger)) == 1

    both[0] = LineReceipt(second, Delivered(3, 1), shown_open_units=4)
    command = uuid4()
    ids = services.receive_order(receipts=both, actor="ann", command_id=command)

    assert ids == services.receive_order(receipts=both, actor="ann", command_id=command)
    assert sorted(row[:3] for row in receipts(ledger)) == [(2, 0, 2), (3, 1, 4), (10, 0, 10)]
    assert {status(ledger, first), status(ledger, second)} == {"closed"}


@pytest.mark.parametrize("number", [0, 501])
def test_a_delivery_has_one_to_five_hundred_lines(ledger: psycopg.Connection, number: int) -> None:
    with pytest.raises(ServiceError, match="1 to 500 lines"):
        services.receive_order(receipts=[LineReceipt(1, Delivered(1))] * number)


def test_simultaneous_deliveries_with_shared_lines_do_not_deadlock(
    ledger: psycopg.Connection,
) -> None:
    line_ids = [order(20, sku=f"S{n}") for n in range(10)]

    outcomes = at_the_same_time(
        *(
            lambda ids=ids: services.receive_order(
                receipts=[LineReceipt(n, Delivered(7)) for n in ids]
            )
            for ids in (line_ids, line_ids[::-1], line_ids)
        )
    )

    assert all(isinstance(outcome, list) for outcome in outcomes), outcomes
    assert sum(row[2] for row in receipts(ledger)) == 200


def test_a_corrected_receipt_replaces_the_first_one(ledger: psycopg.Connection) -> None:
    line_id = order()
    receipt = receive(line_id, 10, actor="ann")

    done = services.correct_receipt(
        shipment_line_id=receipt, delivered=Delivered(7, 1, None, "miscounted"), actor="ann"
    )

    assert done == services.ReceiptCorrected(receipt, order_units=8, open_units=2)
    assert receipts(ledger) == [(7, 1, 8, "miscounted")]
    assert status(ledger, line_id) == "sent"
    services.correct_receipt(shipment_line_id=receipt, delivered=Delivered(12), actor="ann")
    assert receipts(ledger) == [(12, 0, 10, None)]
    assert status(ledger, line_id) == "closed"


def test_a_correction_leaves_what_other_receipts_took(ledger: psycopg.Connection) -> None:
    line_id = order()
    first = receive(line_id, 6, actor="ann")
    receive(line_id, 4, actor="bob")

    services.correct_receipt(shipment_line_id=first, delivered=Delivered(9), actor="ann")

    assert [row[:3] for row in receipts(ledger)] == [(9, 0, 6), (4, 0, 4)]


@pytest.mark.domain("7 shipped; received")
def test_only_the_receiver_corrects(ledger: psycopg.Connection) -> None:
    receipt = receive(order(), 10, actor="ann")

    with pytest.raises(ServiceError, match=r"only ann.*adjustment"):
        services.correct_receipt(shipment_line_id=receipt, delivered=Delivered(9), actor="bob")


@pytest.mark.domain("7 shipped; received")
def test_receipt_can_be_corrected_for_48_hours(
    ledger: psycopg.Connection,
) -> None:
    found = ledger.execute("SELECT now()").fetchone()
    assert found is not None
    line_id, now = order(20), found[0]
    fresh, old = (
        services.receive_shipment(
            purchase_order_line_id=line_id,
            delivered=Delivered(5, received_at=now - timedelta(hours=48) + shift),
            actor="ann",
        )
        for shift in (timedelta(minutes=5), -timedelta(seconds=1))
    )

    services.correct_receipt(shipment_line_id=fresh, delivered=Delivered(4), actor="ann")
    with pytest.raises(Conflict, match=r"48 h.*adjustment"):
        services.correct_receipt(shipment_line_id=old, delivered=Delivered(4), actor="ann")


@pytest.mark.parametrize(
    "received_at",
    [
        datetime(1999, 12, 31, 23, 59, 59, tzinfo=UTC),
        datetime(2026, 3, 2, 9),  # noqa: DTZ001 -- a time without a zone is what is refused
        datetime(2099, 3, 2, 9, tzinfo=UTC),
    ],
)
def test_receipt_correction_refuses_an_invalid_receipt_time(
    ledger: psycopg.Connection, received_at: datetime
) -> None:
    receipt = receive(order(), 10, actor="ann")

    with pytest.raises(ServiceError) as refused:
        services.correct_receipt(
            shipment_line_id=receipt,
            delivered=Delivered(9, received_at=received_at),
            actor="ann",
        )

    assert (refused.value.field, refused.value.value) == ("received_at", received_at)
    assert receipts(ledger) == [(10, 0, 10, None)]


def test_48_hours_are_counted_to_the_microsecond() -> None:
    arrived = datetime(2026, 3, 2, 9, tzinfo=UTC)
    edge = arrived + timedelta(hours=48)

    assert is_correctable(arrived, edge)
    assert not is_correctable(arrived, edge + timedelta(microseconds=1))


def test_a_correction_and_a_receipt_at_the_same_time_share_the_line(
    ledger: psycopg.Connection,
) -> None:
    line_id = order()
    first = receive(line_id, 10, actor="ann")

    at_the_same_time(
        lambda: services.correct_receipt(
            shipment_line_id=first, delivered=Delivered(4), actor="ann"
        ),
        lambda: receive(line_id, 6, actor="bob"),
    )

    # If the second receipt came first, its 6 units were extra units until the correction.
    assert [row[:3] for row in receipts(ledger)] == [(4, 0, 4), (6, 0, 6)]
    assert status(ledger, line_id) == "closed"


def test_delivery_that_was_not_received_cannot_be_corrected(ledger: psycopg.Connection) -> None:
    shipment = services.ship_order_line(line_id=order(), shipped_units=5, actor="ann")

    with pytest.raises(Conflict, match="not received yet"):
        services.correct_receipt(shipment_line_id=shipment, delivered=Delivered(4), actor="ann")
    with pytest.raises(ServiceError, match="no such delivery of a supplier"):
        services.correct_receipt(shipment_line_id=0, delivered=Delivered(4), actor="ann")


def test_correction_of_an_outdated_receipt_is_refused(ledger: psycopg.Connection) -> None:
    receipt = receive(order(), 10, actor="ann")
    services.correct_receipt(shipment_line_id=receipt, delivered=Delivered(9), actor="ann")

    with pytest.raises(Conflict, match="now 9 units received, 0 damaged"):
        services.correct_receipt(
            shipment_line_id=receipt,
            delivered=Delivered(8),
            shown_version="2026-03-02T09:00:00+00:00",
            actor="ann",
        )


def test_second_receipt_of_an_announced_delivery_gets_a_conflict(
    ledger: psycopg.Connection,
) -> None:
    shipment = services.ship_order_line(line_id=order(), shipped_units=10)

    outcomes = at_the_same_time(
        *(
            lambda actor=actor: services.receive_shipment(
                shipment_line_id=shipment, delivered=Delivered(10), actor=actor
            )
            for actor in ("ann", "bob")
        )
    )

    [loser] = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert "was already received: 10 units, recorded by" in loser.what_changed


def test_simultaneous_deliveries_of_one_line_do_not_deadlock(
    ledger: psycopg.Connection,
) -> None:
    for _ in range(5):
        line_id = order(100)
        shipments = [services.ship_order_line(line_id=line_id, shipped_units=1) for _ in range(20)]

        outcomes = at_the_same_time(
            *(
                lambda ids=ids, line_id=line_id: services.receive_order(
                    receipts=[LineReceipt(line_id, Delivered(1), n) for n in ids]
                )
                for ids in (shipments, shipments[::-1])
            )
        )

        [winner] = [outcome for outcome in outcomes if isinstance(outcome, list)]
        [loser] = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
        assert len(winner) == 20
        assert "was already received" in loser.what_changed


def test_shipment_without_an_order_line_adds_only_to_stock(ledger: psycopg.Connection) -> None:
    shipment = write(
        ledger,
        "shipment_line",
        status="shipped",
        shipped_at=NOON,
        received_units=0,
        order_units=0,
        received_at=None,
    )

    services.receive_shipment(shipment_line_id=shipment, delivered=Delivered(7), actor="ann")
    services.correct_receipt(shipment_line_id=shipment, delivered=Delivered(6), actor="ann")

    assert receipts(ledger) == [(6, 0, 0, None)]
    with pytest.raises(ServiceError, match="no such delivery of a supplier"):
        services.receive_shipment(shipment_line_id=0, delivered=Delivered(1))
    with pytest.raises(ServiceError, match="no such order line"):
        services.receive_shipment(purchase_order_line_id=0, delivered=Delivered(1))
    with pytest.raises(ServiceError, match="a shipment or an order line is needed"):
        services.receive_shipment(delivered=Delivered(1))


def test_a_correction_to_nothing_needs_a_reason(ledger: psycopg.Connection) -> None:
    receipt = receive(order(), 10, actor="ann")
    with pytest.raises(ServiceError, match="discrepancy_reason"):
        services.correct_receipt(shipment_line_id=receipt, delivered=Delivered(0), actor="ann")

    nothing = Delivered(0, discrepancy_reason="never came")
    services.correct_receipt(shipment_line_id=receipt, delivered=nothing, actor="ann")

    assert receipts(ledger) == [(0, 0, 0, "never came")]


def test_delivery_cannot_be_received_for_another_order_line(
    ledger: psycopg.Connection,
) -> None:
    mine, other = order(), order(sku="T")
    shipment = services.ship_order_line(line_id=mine, shipped_units=5)

    with pytest.raises(ServiceError, match=f"not a delivery of order line {other}"):
        services.receive_order(receipts=[LineReceipt(other, Delivered(5), shipment)])
