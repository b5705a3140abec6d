"""The forms of an order: effects, rights, and refusals that keep the input."""

import re
from datetime import date
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.automation import sends
from tests.ledger.pages import person
from tests.ledger.test_orders_pages import order, post, text, version
from tests.ledger.test_pending_sends import let_time_pass


@pytest.mark.parametrize(
    ("status", "action", "fields", "column"),
    [
        ("draft", "change", {"units": 18}, "ordered_units = 18"),
        ("sent", "confirm", {"units": 9, "due_on": "2099-01-02"}, "confirmed_units = 9"),
        ("sent", "confirm", {"units": 0, "closing": "1"}, "status = 'closed'"),
        ("sent", "re_date", {"due_on": "2099-01-02"}, "due_on = '2099-01-02'"),
        ("sent", "cancel", {}, "cancelled_units = 12"),
    ],
)
def test_each_order_line_form_writes_its_column(
    ledger: psycopg.Connection, status: str, action: str, fields: dict[str, Any], column: str
) -> None:
    line_id = order(status=status)

    answer = post(person("buyer"), line_id, action, **fields)

    assert answer.status_code == 302
    found = ledger.execute(
        f"SELECT {column}, recorded_by FROM retail.purchase_order_line"  # noqa: S608 -- conditions from above
    ).fetchone()
    assert found == (True, "buyer")


def test_a_draft_is_deleted_and_a_delivery_announced(ledger: psycopg.Connection) -> None:
    draft, sent, client = order(status="draft"), order(sku="T"), person("buyer")

    assert post(client, draft, "delete").status_code == 302
    assert post(client, sent, "ship", units=7).status_code == 302

    assert ledger.execute("SELECT shipped_units FROM retail.shipment_line").fetchall() == [(7,)]
    page = text(client.get("/orders/order?ref=X-1"))
    assert "in transit 7" in page
    assert "deleted the line" in page


def test_outdated_confirmation_is_refused_and_keeps_its_input(
    ledger: psycopg.Connection,
) -> None:
    line_id = order()
    shown = version(line_id)
    services.confirm_order_line(
        services.ConfirmOrderLine(line_id=line_id, confirmed_units=10), actor="ann"
    )

    answer = post(person("buyer"), line_id, "confirm", units=9, shown_version=shown)

    page = text(answer)
    assert answer.status_code == 409
    assert "has changed since it was shown: last written by ann at" in page
    assert 'required value="9"' in page
    assert 'role="alert"' in page


def test_confirming_more_than_ordered_needs_a_tick_shown_after_the_refusal(
    ledger: psycopg.Connection,
) -> None:
    line_id, client = order(24), person("buyer")
    assert "beyond_order" not in text(client.get(f"/orders/order?ref=X-1&open={line_id}"))

    refused = post(client, line_id, "confirm", units=512)

    page = text(refused)
    assert refused.status_code == 422
    assert "at most the 24 ordered" in page
    assert "The supplier sends more than the 24 ordered" in page
    assert 'required value="512"' in page
    assert post(client, line_id, "confirm", units=512, beyond_order="1").status_code == 302
    found = ledger.execute("SELECT confirmed_units FROM retail.purchase_order_line").fetchone()
    assert found == (512,)


def test_a_confirmation_of_nothing_takes_a_tick_because_it_closes_the_line(
    ledger: psycopg.Connection,
) -> None:
    line_id, client = order(24), person("buyer")
    assert "closing" not in text(client.get(f"/orders/order?ref=X-1&open={line_id}"))

    refused = post(client, line_id, "confirm", units=0, beyond_order="1")

    page = text(refused)
    assert refused.status_code == 422
    assert "Units in all: 0 closes the line" in page
    assert "The supplier sends nothing: close this line" in page
    assert "beyond_order" not in page
    assert post(client, line_id, "confirm", units=0, closing="1").status_code == 302
    found = ledger.execute("SELECT status, confirmed_units FROM retail.purchase_order_line")
    assert found.fetchone() == ("closed", 0)
    assert "Confirmed 0 units; the line is closed." in text(client.get("/orders/order?ref=X-1"))
    # The line has no cancelled units, so nobody can open it again.
    late = text(post(client, line_id, "confirm", units=6))
    assert "no open units; the purchasing lead can order cancelled units again" in late


def test_a_refused_number_stays_in_its_field(ledger: psycopg.Connection) -> None:
    line_id = order(status="draft")
    ledger.execute("UPDATE retail.purchase_order_line SET pack_units = 6")

    answer = post(person("buyer"), line_id, "change", units=13)

    assert answer.status_code == 422
    assert 'required value="13"' in text(answer)
    assert post(person("lead"), line_id, "change", units=13).status_code == 302


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("fly", {}),
        ("change", {"units": "many"}),
        ("change", {"units": "1" * 20}),
        ("re_date", {"due_on": "tomorrow"}),
        ("re_date", {"due_on": ""}),
        ("change", {"units": 6, "command_id": "none"}),
        ("change", {"units": 6, "line": ""}),
    ],
)
def test_malformed_order_line_forms_are_refused_with_an_alert(
    ledger: psycopg.Connection, action: str, fields: dict[str, Any]
) -> None:
    answer = post(person("buyer"), order(status="draft"), action, **fields)

    assert answer.status_code == 422
    assert 'role="alert"' in text(answer)


def test_only_the_lead_orders_cancelled_units_again(ledger: psycopg.Connection) -> None:
    line_id = order()
    services.cancel_order_units(line_id=line_id)
    opened = f"/orders/order?ref=X-1&open={line_id}"
    assert "Order the cancelled units again" not in text(person("buyer").get(opened))
    assert post(person("buyer"), line_id, "restore", units=4).status_code == 422

    lead = person("lead")
    assert "Order the cancelled units again" in text(lead.get(opened))
    assert post(lead, line_id, "restore", units=4).status_code == 302


def test_associate_can_see_orders_but_not_change_them(ledger: psycopg.Connection) -> None:
    line_id, client = order(), person("associate")

    assert "Supplier confirms" not in text(client.get(f"/orders/order?ref=X-1&open={line_id}"))
    assert post(client, line_id, "cancel").status_code == 403
    assert person("pricing").get("/orders/").status_code == 403


def test_order_page_sends_an_order_below_the_minimum_only_after_a_tick(
    ledger: psycopg.Connection,
) -> None:
    services.name_suppliers(names={"ACME": "Acme"})
    services.set_supplier_terms(services.SetSupplierTerms(code="ACME", minimum_order_minor=1000))
    order(status="draft")
    client = person("buyer")
    found = re.search(r'shown_version" value="([^"]+)"', text(client.get("/orders/order?ref=X-1")))
    assert found is not None
    form = {"action": "send", "command_id": str(uuid4()), "shown_version": found.group(1)}

    refused = client.post("/orders/act?ref=X-1", form)
    assert refused.status_code == 422
    assert "supplier&#x27;s minimum" in text(refused)
    sent = client.post("/orders/act?ref=X-1", form | {"below_minimum": "1"})

    assert sent.status_code == 302
    waiting = text(client.get("/orders/order?ref=X-1"))
    assert "Being sent" in waiting
    assert ">Undo<" in waiting
    assert "Send order" not in waiting
    assert client.post("/orders/act?ref=X-1", form).status_code == 409
    status = "SELECT status FROM retail.purchase_order_line"
    assert ledger.execute(status).fetchone() == ("draft",)
    let_time_pass(ledger)
    sends.send_due()
    assert ledger.execute(status).fetchone() == ("sent",)
    assert "X-1</a>." in text(client.get("/orders/order?ref=X-1"))


def test_sending_of_an_order_can_be_undone_on_its_page(
    ledger: psycopg.Connection,
) -> None:
    order(status="draft")
    client = person("buyer")
    found = re.search(r'shown_version" value="([^"]+)"', text(client.get("/orders/order?ref=X-1")))
    assert found is not None
    form = {"action": "send", "command_id": str(uuid4()), "shown_version": found.group(1)}
    client.post("/orders/act?ref=X-1", form)
    [send] = re.findall(r'name="send" value="(\d+)"', text(client.get("/orders/order?ref=X-1")))
    undo = {"send": send, "action": "undo", "desk": "order", "ref": "X-1"}

    undone = client.post("/reorders/sends", undo | {"command_id": str(uuid4())})

    assert undone.headers["Location"] == "/orders/order?ref=X-1"
    assert "Send order" in text(client.get("/orders/order?ref=X-1"))


def test_draft_line_past_its_due_day_is_marked_and_blocks_sending(
    ledger: psycopg.Connection,
) -> None:
    late = order(status="draft", due_on=date(2026, 3, 2))
    client = person("buyer")
    page = text(client.get("/orders/order?ref=X-1"))
    found = re.search(r'shown_version" value="([^"]+)"', page)
    assert found is not None
    form = {"action": "send", "command_id": str(uuid4()), "shown_version": found.group(1)}

    refused = client.post("/orders/act?ref=X-1", form)

    assert "due day is over. Open it and move the due day" in page
    assert refused.status_code == 422
    assert (
        f"choose a later day for these lines, or delete the lines: line {late} (S, 2026-03-02)"
        in text(refused)
    )
    assert post(client, late, "re_date", due_on="2099-03-02").status_code == 302
    assert "due day is over" not in text(client.get("/orders/order?ref=X-1"))


def test_a_change_far_beyond_the_line_s_units_takes_a_tick_for_that_quantity(
    ledger: psycopg.Connection,
) -> None:
    line_id, client = order(12, status="draft"), person("buyer")
    assert 'name="meant"' not in text(client.get(f"/orders/order?ref=X-1&open={line_id}"))

    for meant in ({}, {"meant": "99999"}):
        refused = post(client, line_id, "change", units=999_999, **meant)

        page = text(refused)
        assert refused.status_code == 422
        assert "Units: more than ten times the 12 units of the line" in page
        assert "got 999,999." in page
        assert 'required value="999999"' in page
        assert 'name="meant" value="999999"' in page
        assert "Yes, order 999,999 units, although the line has only 12 units" in page
    ordered = "SELECT ordered_units FROM retail.purchase_order_line"
    assert ledger.execute(ordered).fetchall() == [(12,)]

    done = post(client, line_id, "change", units=999_999, meant="999999")

    assert done.status_code == 302
    assert ledger.execute(ordered).fetchall() == [(999_999,)]


@pytest.mark.parametrize("units", [6, 100, 120])
def test_a_change_up_to_ten_times_the_line_s_units_takes_no_tick(
    ledger: psycopg.Connection, units: int
) -> None:
    assert (
        post(person("buyer"), order(12, status="draft"), "change", units=units).status_code == 302
    )


def test_malformed_units_of_a_draft_line_show_no_tick(ledger: psycopg.Connection) -> None:
    refused = post(person("buyer"), order(12, status="draft"), "change", units="many")

    assert refused.status_code == 422
    assert 'name="meant"' not in text(refused)
