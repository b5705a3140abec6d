"""Extra units of a receipt count towards the order after another receipt is corrected."""

import psycopg

from ledger import services
from ledger.services import Delivered
from tests.ledger.test_receipts import order, receipts, receive, status


def test_a_corrected_receipt_counts_extra_units_of_the_other_receipts(
    ledger: psycopg.Connection,
) -> None:
    line_id = order()
    first = receive(line_id, 8, actor="ann")
    receive(line_id, 5, actor="bob")
    receive(line_id, 1, actor="bob")
    assert [row[2] for row in receipts(ledger)] == [8, 2, 0]

    done = services.correct_receipt(
        shipment_line_id=first, delivered=Delivered(4, 0, None, "miscounted"), actor="ann"
    )

    assert done == services.ReceiptCorrected(first, order_units=4, open_units=0)
    assert [row[2] for row in receipts(ledger)] == [4, 5, 1]
    assert status(ledger, line_id) == "closed"
    logged = ledger.execute(
        "SELECT detail ->> 'extra_units' FROM app.action_log WHERE action = 'correct_receipt'"
    ).fetchall()
    assert logged == [("4",)]


def test_a_correction_counts_no_more_extra_units_than_it_opens(ledger: psycopg.Connection) -> None:
    line_id = order()
    first = receive(line_id, 6, actor="ann")
    services.cancel_order_units(line_id=line_id, actor="lea")
    receive(line_id, 4, actor="bob")
    services.restore_order_units(line_id=line_id, units=4, reopening_allowed=True, actor="lea")

    services.correct_receipt(shipment_line_id=first, delivered=Delivered(5, 1), actor="ann")

    assert [row[2] for row in receipts(ledger)] == [6, 0]
    assert status(ledger, line_id) == "sent"


def test_extra_units_that_no_longer_fit_the_order_stay_extra(ledger: psycopg.Connection) -> None:
    line_id = order()
    first = receive(line_id, 8, actor="ann")
    second = receive(line_id, 5, actor="bob")
    services.correct_receipt(shipment_line_id=first, delivered=Delivered(6), actor="ann")
    assert [row[2] for row in receipts(ledger)] == [6, 4]

    services.correct_receipt(shipment_line_id=first, delivered=Delivered(8), actor="ann")
    done = services.correct_receipt(shipment_line_id=second, delivered=Delivered(1), actor="bob")

    assert done == services.ReceiptCorrected(second, order_units=1, open_units=1)
    assert [row[:3] for row in receipts(ledger)] == [(8, 0, 8), (1, 0, 1)]
    assert status(ledger, line_id) == "sent"
