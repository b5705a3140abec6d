from typing import Any

import psycopg
import pytest

from ledger import services
from ledger.services import Conflict, Delivered, ServiceError
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import NOON
from tests.ledger.stocked import stocked


def order(units: int = 10, actor: str | None = None, **changes: Any) -> int:
    given: dict[str, Any] = {"location": "L", "sku": "S", "supplier": "ACME", "order_ref": "PO-1"}
    return services.place_order_line(
        services.PlaceOrderLine(**given | {"ordered_units": units} | changes), actor=actor
    )


def received(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT received_units, damaged_units, order_units FROM retail.shipment_line"
        " WHERE status = 'received' ORDER BY id"
    ).fetchall()


@pytest.mark.domain("7 shipped; received")
def test_a_receipt_closes_as_much_of_the_order_as_arrived(ledger: psycopg.Connection) -> None:
    line = order(24)

    services.receive_shipment(purchase_order_line_id=line, delivered=Delivered(18, 1))

    assert received(ledger) == [(18, 1, 19)]


@pytest.mark.domain("7 shipped; received")
def test_extra_units_enter_stock_but_close_no_more_than_is_open(ledger: psycopg.Connection) -> None:
    line = order(10)
    services.confirm_order_line(services.ConfirmOrderLine(line_id=line, confirmed_units=8))

    services.receive_shipment(purchase_order_line_id=line, delivered=Delivered(5))
    services.receive_shipment(purchase_order_line_id=line, delivered=Delivered(5))
    services.receive_shipment(purchase_order_line_id=line, delivered=Delivered(1))

    assert received(ledger) == [(5, 0, 5), (5, 0, 3), (1, 0, 0)]


def test_two_receipts_at_the_same_time_share_the_open_units(ledger: psycopg.Connection) -> None:
    line = order(10)

    at_the_same_time(
        lambda: services.receive_shipment(purchase_order_line_id=line, delivered=Delivered(8)),
        lambda: services.receive_shipment(purchase_order_line_id=line, delivered=Delivered(8)),
    )

    assert sorted(row[2] for row in received(ledger)) == [2, 8]


def test_an_announced_shipment_is_received_once(ledger: psycopg.Connection) -> None:
    shipment = services.ship_order_line(line_id=order(10), shipped_units=10, shipped_at=NOON)

    services.receive_shipment(shipment_line_id=shipment, delivered=Delivered(10))

    with pytest.raises(Conflict, match="received only once"):
        services.receive_shipment(shipment_line_id=shipment, delivered=Delivered(10))
    assert received(ledger) == [(10, 0, 10)]


def test_a_draft_order_cannot_be_received(ledger: psycopg.Connection) -> None:
    line = order(10, status="draft")

    with pytest.raises(Conflict, match="draft"):
        services.receive_shipment(purchase_order_line_id=line, delivered=Delivered(1))


def test_cancelling_cancels_exactly_the_open_units(ledger: psycopg.Connection) -> None:
    line = order(10)
    services.receive_shipment(purchase_order_line_id=line, delivered=Delivered(7))

    assert services.cancel_order_units(line_id=line, actor="buyer") == 3
    assert ledger.execute(
        "SELECT cancelled_units, status FROM retail.purchase_order_line"
    ).fetchall() == [(3, "closed")]


def test_a_transfer_is_two_rows_under_two_keys(ledger: psycopg.Connection) -> None:
    stocked("DC-1", "L")
    services.ship_transfer(
        services.ShipTransfer(services.Route("DC-1", "L", "S", 6), transfer_ref="T-1")
    )

    rows = ledger.execute(
        "SELECT inv_key, leg, status, shipped_units FROM retail.shipment_line ORDER BY id"
    ).fetchall()
    assert rows == [
        ("DC-1|S", "transfer_out", "shipped", 6),
        ("L|S", "transfer_in", "shipped", 6),
    ]


@pytest.mark.domain("7 transfer")
def test_units_lost_on_the_way_need_a_reason(ledger: psycopg.Connection) -> None:
    stocked("DC-1", "L")
    transfer = services.ship_transfer(services.ShipTransfer(services.Route("DC-1", "L", "S", 6)))

    with pytest.raises(ServiceError, match="discrepancy_reason"):
        services.receive_transfer(shipment_line_id=transfer.in_id, delivered=Delivered(5))

    lost = services.receive_transfer(
        shipment_line_id=transfer.in_id, delivered=Delivered(5, discrepancy_reason="torn box")
    )
    assert lost == 1
    assert received(ledger) == [(5, 0, 0)]


def test_the_outgoing_leg_is_not_received(ledger: psycopg.Connection) -> None:
    stocked("DC-1", "L")
    transfer = services.ship_transfer(services.ShipTransfer(services.Route("DC-1", "L", "S", 6)))

    with pytest.raises(ServiceError, match="no such arriving transfer"):
        services.receive_transfer(shipment_line_id=transfer.out_id, delivered=Delivered(6))


def test_a_transfer_to_its_own_source_is_refused(ledger: psycopg.Connection) -> None:
    with pytest.raises(ServiceError, match="must differ from the location that sends"):
        services.ship_transfer(services.ShipTransfer(services.Route("L", "L", "S", 6)))
