"""People can't enter a time in the future: it counts as a typing error (domain.md 2.1)."""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.kernel.checks import refuse_future
from ledger.kernel.transactions import database_now
from ledger.services import Adjust, Delivered, ServiceError
from tests.ledger.pages import person
from tests.ledger.rows import write

SKEW = timedelta(seconds=300)
AHEAD = """
SELECT 'shipment' FROM retail.shipment_line WHERE greatest(shipped_at, received_at) > recorded_at
UNION ALL SELECT 'count' FROM retail.stock_count WHERE occurred_at > recorded_at
UNION ALL SELECT 'adjustment' FROM retail.stock_adjustment WHERE occurred_at > recorded_at
UNION ALL SELECT 'request' FROM app.adjustment_request WHERE occurred_at > requested_at
"""


def counted(at: datetime) -> object:
    return services.approve_count(
        services.ApproveCount(location="L", sku="S", units=5, occurred_at=at)
    )


def adjusted(at: datetime) -> object:
    return services.adjust(
        services.Adjust(location="L", sku="S", reason="theft", quantity_units=1, occurred_at=at)
    )


def asked(at: datetime) -> object:
    return services.request_adjustment(wanted=Adjust("L", "S", "theft", 1, at), actor="ann")


def weighed(at: datetime) -> object:
    return services.worth_of(wanted=Adjust("L", "S", "theft", 1, at))


def ordered() -> int:
    return services.place_order_line(
        services.PlaceOrderLine(
            location="L", sku="S", supplier="ACME", ordered_units=10, order_ref="X-1"
        )
    )


def shipped(at: datetime) -> object:
    return services.ship_order_line(line_id=ordered(), shipped_units=5, shipped_at=at)


def received(at: datetime) -> object:
    return services.receive_shipment(
        purchase_order_line_id=ordered(), delivered=Delivered(10, received_at=at)
    )


def ranged(at: datetime) -> object:
    return services.range_items(
        items=[services.RangedItem("M", "S", {"status": "active"}, 5)], occurred_at=at
    )


@pytest.mark.parametrize("book", [counted, adjusted, asked, weighed, shipped, received, ranged])
def test_a_person_cannot_record_a_fact_in_the_future(
    ledger: psycopg.Connection, book: Callable[[datetime], object]
) -> None:
    write(ledger, "item_location")

    with pytest.raises(ServiceError, match=r"must not be later than now, 20.* UTC"):
        book(database_now() + SKEW + timedelta(minutes=1))
    book(database_now() + SKEW - timedelta(minutes=1))
    assert ledger.execute(AHEAD).fetchall() == []


def test_clocks_may_differ_by_five_minutes_and_no_second_more() -> None:
    now = datetime.fromisoformat("2026-11-21T10:42:00+00:00")

    refuse_future("occurred_at", None, now)
    refuse_future("occurred_at", now + SKEW, now)
    with pytest.raises(ServiceError):
        refuse_future("occurred_at", now + SKEW + timedelta(seconds=1), now)


def test_a_sale_of_a_till_whose_clock_is_ahead_is_recorded(ledger: psycopg.Connection) -> None:
    services.record_sale(
        services.RecordSale(
            location="L",
            sku="S",
            quantity_units=1,
            amount_minor=999,
            source="till",
            source_ref="1",
            occurred_at=database_now() + timedelta(days=1),
        )
    )

    assert ledger.execute("SELECT count(*) FROM retail.sale_line").fetchone() == (1,)


def test_the_adjustment_form_refuses_a_future_time_and_keeps_it(ledger: psycopg.Connection) -> None:
    write(ledger, "item_location", cost_minor=400)
    typed = {"location": "L", "sku": "S", "reason": "theft", "quantity_units": "2"}
    typed |= {"occurred_at": "2099-01-01T10:00", "command_id": str(uuid4())}

    for action in ("preview", "book"):
        answer = person("associate").post("/counts/adjust/", typed | {"action": action})

        page = answer.content.decode()
        assert answer.status_code == 422
        assert re.search(
            r"When: must not be later than now, 20.* UTC; got 2099-01-01 10:00 UTC\.", page
        )
        assert 'value="2099-01-01T10:00"' in page
    assert ledger.execute("SELECT count(*) FROM retail.stock_adjustment").fetchone() == (0,)


def test_a_backdated_adjustment_shows_its_time(ledger: psycopg.Connection) -> None:
    write(ledger, "item_location", cost_minor=400)
    ledger.execute("INSERT INTO retail.product (code, name) VALUES ('S', 'Kettle')")
    ledger.execute("INSERT INTO retail.location (code, name) VALUES ('L', 'Leeds')")
    ledger.execute("UPDATE app.setting SET adjustment_limit_minor = 10000")
    typed = {"location": "L", "sku": "S", "reason": "theft", "quantity_units": "2"}
    typed |= {"occurred_at": "2026-03-02T12:00:00", "command_id": str(uuid4())}
    ann = person("associate", "ann")

    shown = ann.post("/counts/adjust/", typed | {"action": "preview"}).content.decode()
    booked = ann.post("/counts/adjust/", typed | {"action": "book"}, follow=True).content.decode()

    assert re.search(r"as of <b>2 Mar( 2026)?, 12:00</b>", shown)
    assert re.search(
        r"Kettle at Leeds: on hand −2 as of 2 Mar( 2026)?, 12:00, worth €8\.00 at cost\.", booked
    )


def test_a_typed_time_with_a_utc_offset_is_converted_to_utc(ledger: psycopg.Connection) -> None:
    write(ledger, "item_location", cost_minor=400)
    typed = {"location": "L", "sku": "S", "reason": "theft", "quantity_units": "2"}
    typed |= {"occurred_at": "2026-03-02T12:00:00+05:00", "command_id": str(uuid4())}

    answer = person("associate").post("/counts/adjust/", typed | {"action": "preview"})

    assert re.search(r"as of <b>2 Mar( 2026)?, 07:00</b>", answer.content.decode())
