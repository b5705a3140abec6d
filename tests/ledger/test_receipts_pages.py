"""The desk Receiving: find an order, type received units, accept the rest, correct a receipt."""

import re
from datetime import date
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from ledger import services
from ledger.services import Delivered
from tests.ledger.pages import person

LIMITS = 'type="number" inputmode="numeric" min="0" max="1000000"'
HIDDEN = re.compile(r'name="((?:shown|expected)-[^"]+)" value="(\d+)"')


def order(units: int = 10, actor: str | None = None, **changes: Any) -> int:
    given: dict[str, Any] = {"location": "L", "sku": "S", "supplier": "ACME", "order_ref": "X-1"}
    return services.place_order_line(
        services.PlaceOrderLine(**given | {"ordered_units": units} | changes), actor=actor
    )


def text(response: Any) -> str:
    return re.sub(r"\s+", " ", response.content.decode())


def form(client: Client, **typed: object) -> dict[str, str]:
    """Return the form of the order's page as rendered, with the typed values."""
    page = text(client.get("/receiving/order?ref=X-1"))
    names = {name.replace("_", "-"): str(value) for name, value in typed.items()}
    return {**dict(HIDDEN.findall(page)), "command_id": str(uuid4()), **names}


def send(client: Client, fields: dict[str, str]) -> Any:
    return client.post("/receiving/receive?ref=X-1", fields)


def receipts(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT received_units, damaged_units, order_units, discrepancy_reason, recorded_by"
        " FROM retail.shipment_line WHERE status = 'received' ORDER BY id"
    ).fetchall()


def test_accepting_the_rest_records_a_typed_shortage_and_full_other_lines(
    ledger: psycopg.Connection,
) -> None:
    short = order()
    order(6, sku="T")
    client = person("associate")
    # The value of an option is the reason's code. Its text is in the language of the page.
    german = client.get("/receiving/order?ref=X-1", headers={"accept-language": "de"})
    assert '<option value="short">zu wenig</option>' in german.content.decode()
    fields = form(client, accept="rest") | {
        f"received-{short}-0": "8",
        f"reason-{short}-0": "short",
    }

    answer = send(client, fields)

    assert answer.status_code == 302
    assert receipts(ledger) == [(8, 0, 8, "short", "associate"), (6, 0, 6, None, "associate")]
    report = text(client.get(answer["Location"]))
    assert "Final report of this delivery" in report
    assert "<b>2 units</b> of the order are still open" in report


def test_the_same_delivery_sent_twice_is_received_once(ledger: psycopg.Connection) -> None:
    order()
    client = person("associate")
    fields = form(client, accept="rest")

    first, second = send(client, fields), send(client, fields)

    assert first["Location"] == second["Location"]
    assert len(receipts(ledger)) == 1


def test_each_announced_delivery_of_a_line_gets_its_own_receipt(ledger: psycopg.Connection) -> None:
    line_id = order(12)
    first = services.ship_order_line(line_id=line_id, shipped_units=4)
    second = services.ship_order_line(line_id=line_id, shipped_units=6)
    services.ship_order_line(line_id=line_id, shipped_units=2)
    client = person("associate")

    fields = form(client, accept="rest") | {
        f"reason-{line_id}-{first}": "refused",
        f"received-{line_id}-{second}": "4",
        f"damaged-{line_id}-{second}": "2",
        f"reason-{line_id}-{second}": "damaged",
    }
    assert send(client, fields).status_code == 302

    assert [row[:4] for row in receipts(ledger)] == [
        (0, 0, 0, "refused"),
        (4, 2, 6, "damaged"),
        (2, 0, 2, None),
    ]


@pytest.mark.parametrize(
    ("received", "damaged", "reason", "rule"),
    [
        ("9", "", "", "10 were expected, but"),
        ("11", "", "", "10 were expected, but"),
        ("10", "1", "", "10 were expected, but"),
        ("", "2", "", "10 were expected, but"),
        ("3", "", "refused", "0 for refused goods"),
        ("9", "", "mice", "one of short, over"),
        ("lots", "", "", "whole number"),
        ("1000001", "", "over", "whole number"),
        ("", "", "", "type the units of at least one line"),
    ],
)
def test_invalid_received_units_are_refused_and_stay_in_their_field(
    ledger: psycopg.Connection, received: str, damaged: str, reason: str, rule: str
) -> None:
    line_id, client = order(), person("associate")
    name = f"{line_id}-0"
    typed = {f"received-{name}": received, f"damaged-{name}": damaged, f"reason-{name}": reason}

    answer = send(client, form(client, accept="typed") | typed)

    page = text(answer)
    assert answer.status_code == 422
    assert rule in page
    assert f'name="received-{name}" {LIMITS} value="{received}"' in page
    assert receipts(ledger) == []


def test_typing_only_damaged_units_receives_the_other_units_undamaged(
    ledger: psycopg.Connection,
) -> None:
    line_id, client = order(), person("associate")
    typed = {f"damaged-{line_id}-0": "2", f"reason-{line_id}-0": "damaged"}

    send(client, form(client, accept="typed") | typed)

    assert receipts(ledger)[0][:4] == (8, 2, 10, "damaged")


def test_the_second_of_two_receivers_gets_a_conflict_and_the_form_keeps_the_input(
    ledger: psycopg.Connection,
) -> None:
    line_id, client = order(), person("associate")
    fields = form(client, accept="rest") | {
        f"received-{line_id}-0": "10",
        f"reason-{line_id}-0": "",
    }
    services.receive_shipment(purchase_order_line_id=line_id, delivered=Delivered(10), actor="bob")

    answer = send(client, fields)

    page = text(answer)
    assert answer.status_code == 409
    assert "has 0 open now: bob has received 10 units" in page
    assert "nothing open any more" in page
    assert f'name="received-{line_id}-0"' in page
    assert 'value="10" data-received' in page
    assert len(receipts(ledger)) == 1


def test_input_for_an_already_received_delivery_moves_to_its_order_line(
    ledger: psycopg.Connection,
) -> None:
    line_id, client = order(), person("associate")
    shipments = [services.ship_order_line(line_id=line_id, shipped_units=4) for _ in range(2)]
    fields = form(client, accept="typed")
    for shipment in shipments:
        fields |= {f"received-{line_id}-{shipment}": "3", f"reason-{line_id}-{shipment}": "short"}
        services.receive_shipment(shipment_line_id=shipment, delivered=Delivered(4), actor="bob")

    answer = send(client, fields)

    assert answer.status_code == 409
    page = text(answer)
    assert "was already received: 4 units, recorded by bob" in page
    assert f'name="received-{line_id}-0" {LIMITS} value="3"' in page
    assert "You had also filled in for S: received 3, damaged 0." in page


def test_receiving_ignores_form_rows_that_the_page_did_not_show(ledger: psycopg.Connection) -> None:
    order()
    client = person("associate")
    odd = {"shown-9999999-0": "1", "expected-9999999-0": "1", "shown-x": "1", "shown-1-y": "2"}

    assert send(client, form(client, accept="rest") | odd).status_code == 302
    assert len(receipts(ledger)) == 1


def test_a_receipt_is_corrected_on_the_page_by_its_receiver(ledger: psycopg.Connection) -> None:
    order()
    client, other = person("associate"), person("associate", "bob")
    send(client, form(client, accept="rest"))
    [row] = re.findall(r"open=(\d+)#receipt-", text(client.get("/receiving/order?ref=X-1")))
    page = text(client.get(f"/receiving/order?ref=X-1&open={row}"))
    assert 'action="/receiving/correct' in page
    assert 'action="/receiving/correct' not in text(
        other.get(f"/receiving/order?ref=X-1&open={row}")
    )
    fields = dict(re.findall(r'name="(receipt|shown_version)" value="([^"]+)"', page))
    typed = {"received": "7", "damaged": "1", "reason": "miscounted"}

    refused = other.post(
        "/receiving/correct?ref=X-1", fields | typed | {"command_id": str(uuid4())}
    )
    done = client.post("/receiving/correct?ref=X-1", fields | typed | {"command_id": str(uuid4())})
    again = client.post("/receiving/correct?ref=X-1", fields | typed | {"command_id": str(uuid4())})

    assert (refused.status_code, done.status_code, again.status_code) == (422, 302, 409)
    assert "Only associate, who received this delivery" in text(refused)
    assert f'name="received" {LIMITS} required value="7"' in text(again)
    assert receipts(ledger) == [(7, 1, 8, "miscounted", "associate")]


def test_the_conflict_of_a_correction_names_nobody(ledger: psycopg.Connection) -> None:
    """Ann's correction counts an extra unit of Bob's receipt, so Bob's page is out of date."""
    line = order()
    first, second = (
        services.receive_shipment(
            purchase_order_line_id=line, delivered=Delivered(units), actor=actor
        )
        for units, actor in ((8, "ann"), (5, "bob"))
    )
    bob = person("associate", "bob")
    page = text(bob.get(f"/receiving/order?ref=X-1&open={second}"))
    fields = dict(re.findall(r'name="(receipt|shown_version)" value="([^"]+)"', page))
    services.correct_receipt(shipment_line_id=first, delivered=Delivered(7), actor="ann")

    typed = {"received": "4", "damaged": "0", "command_id": str(uuid4())}
    answer = bob.post("/receiving/correct?ref=X-1", fields | typed)

    assert answer.status_code == 409
    assert re.search(r"Last change 20\S+ \S+ UTC: now 5 units received, 0 damaged", text(answer))


def test_a_receipt_correction_offers_listed_reasons_and_logs_the_former_units(
    ledger: psycopg.Connection,
) -> None:
    line_id, client = order(), person("associate")
    short = {f"received-{line_id}-0": "8", f"reason-{line_id}-0": "short"}
    assert "Receive and accept the rest" in buttons(client)[0]
    send(client, form(client, accept="rest") | short)
    assert "Receive only what is typed" in buttons(client)[0]  # two units may never come
    [row] = re.findall(r"open=(\d+)#receipt-", text(client.get("/receiving/order?ref=X-1")))
    page = text(client.get(f"/receiving/order?ref=X-1&open={row}"))
    fields = dict(re.findall(r'name="(receipt|shown_version)" value="([^"]+)"', page))

    typed = {"received": "10", "damaged": "0", "reason": "", "command_id": str(uuid4())}
    client.post("/receiving/correct?ref=X-1", fields | typed)

    assert '<select name="reason"><option value="">as expected</option>' in page
    # The hint is below the lines to come, and below the form of the correction.
    assert page.count("If units are missing and others are damaged, choose “damaged”") == 2
    assert '<option value="short" selected>' in page
    assert receipts(ledger) == [(10, 0, 10, None, "associate")]
    audit = text(client.get("/system/audit/?action=correct_receipt"))
    assert 'Received: <span class="was">8</span> → <b>10</b>' in audit
    history = text(person("buyer").get("/orders/order?ref=X-1"))
    assert re.search(r"corrected a receipt.{0,99}received 8 to 10", history)


def buttons(client: Client) -> list[str]:
    """Return the buttons that receive a delivery, the main one first."""
    page = text(client.get("/receiving/order?ref=X-1"))
    return re.findall(r'<button[^>]*name="accept"[^>]*>[^<]*', page)


def test_a_scanned_order_or_item_opens_its_order(ledger: psycopg.Connection) -> None:
    order(due_on=date(2026, 1, 2))
    order(order_ref="X-2", sku="T")
    order(order_ref="X-3", sku="T")
    client = person("associate")

    assert client.get("/receiving/?q=X-1")["Location"] == "/receiving/order?ref=X-1"
    assert client.get("/receiving/?q=S")["Location"] == "/receiving/order?ref=X-1"
    for lower in ("x-1", "s"):
        found = client.get("/receiving/", {"q": lower})
        assert found.headers.get("Location") == "/receiving/order?ref=X-1", lower
    both = text(client.get("/receiving/?q=T"))
    assert ">X-2<" in both
    assert ">X-3<" in both
    assert "Nothing to come for none" in text(client.get("/receiving/?q=none"))
    assert client.get("/receiving/?after=999999999999999999999~x&sort=lines").status_code == 200
    assert "1 late" in text(client.get("/receiving/?location=L"))


def test_the_receiving_list_pages_through_every_order(ledger: psycopg.Connection) -> None:
    for number in range(60):
        order(order_ref=f"X-{number:02}")
    client = person("associate")

    first = text(client.get("/receiving/"))
    [following] = re.findall(r'href="([^"]*)" rel="next"', first)
    second = text(client.get("/receiving/" + following.replace("&amp;", "&")))

    assert re.search(r"<b>60 orders to come</b> · [\d,]+ units", first)
    seen = re.findall(r">(X-\d\d)<", first) + re.findall(r">(X-\d\d)<", second)
    assert sorted(seen) == [f"X-{number:02}" for number in range(60)]


def test_the_row_of_a_found_order_describes_its_other_lines_too(
    ledger: psycopg.Connection,
) -> None:
    for ref in ("X-1", "X-2"):
        order(order_ref=ref)
        order(7, order_ref=ref, sku="T", due_on=date(2026, 1, 2))
    order(order_ref="X-3", sku="T")

    page = text(person("associate").get("/receiving/?q=S"))

    assert re.search(r"<b>2 orders to come</b> · 34 units · <b[^>]*>2 late", page)
    assert page.count('data-label="Lines">2<') == 2
    assert page.count('data-label="Units to come">17<') == 2
    assert page.count('<span class="flag bad">1 late</span>') == 2
    assert ">X-3<" not in page


def test_an_order_for_two_locations_counts_as_one_order(ledger: psycopg.Connection) -> None:
    for location in ("L", "M"):
        order(location=location, due_on=date(2026, 1, 2))

    page = text(person("associate").get("/receiving/"))

    assert re.search(r"<b>1 order to come</b> · 20 units · <b[^>]*>1 late", page)
    assert page.count('<th scope="row">') == 2


def test_drafts_and_unknown_orders_cannot_be_received(ledger: psycopg.Connection) -> None:
    order(status="draft")
    client = person("associate")

    page = text(client.get("/receiving/order?ref=X-1"))
    assert "1 line of this order is not sent yet" in page
    assert client.get("/receiving/order?ref=none").status_code == 404
    assert person("buyer").get("/receiving/").status_code == 403


def test_a_long_delivery_is_received_a_hundred_lines_at_a_time(ledger: psycopg.Connection) -> None:
    for number in range(103):
        order(sku=f"S{number:03}")
    client = person("associate")
    page = text(client.get("/receiving/order?ref=X-1"))
    assert "3 further lines of this order follow" in page
    # With `data-more`, the script knows that the order has more items than the page shows.
    assert "data-pick data-more" in page
    # Enter in a quantity presses the first button of the form, so this button must receive nothing.
    assert " disabled" in re.findall(r"<button[^>]*>", page.partition("data-delivery>")[2])[0]

    send(client, form(client, accept="rest"))
    assert len(receipts(ledger)) == 100
    send(client, form(client, accept="rest"))

    assert len(receipts(ledger)) == 103
