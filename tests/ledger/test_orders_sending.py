"""Sending an order: refusals, changes of each line, and concurrent senders."""

import re
from datetime import date, timedelta

import psycopg
import pytest

from ledger import services
from ledger.services import Conflict, ServiceError
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.test_orders import ORDERED, line, order, today, version

WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"


def test_sending_starts_the_lead_time_and_gives_each_line_its_due_day(
    ledger: psycopg.Connection,
) -> None:
    services.range_item(location="L", sku="S", policy={"lead_time_centidays": 400})
    services.range_item(location="L", sku="T")
    services.name_suppliers(names={"ACME": "Acme"})
    services.set_supplier_terms(services.SetSupplierTerms(code="ACME", lead_time_centidays=200))
    promised = date(2099, 1, 1)
    for sku, due in (("S", None), ("T", None), ("U", promised)):
        order(sku=sku, status="draft", due_on=due)

    done = services.send_order(order_ref="X-1", actor="ann")

    rows = ledger.execute(
        "SELECT status, due_on - ordered_at::date, due_on, recorded_by"
        " FROM retail.purchase_order_line ORDER BY id"
    ).fetchall()
    assert [row[0] for row in rows] == ["sent"] * 3
    assert [row[1] for row in rows[:2]] == [4, 2]
    assert rows[2][2:] == (promised, "ann")
    assert (done.lines, done.units) == (3, 30)


def test_order_with_a_draft_line_past_its_due_day_is_not_sent(
    ledger: psycopg.Connection,
) -> None:
    yesterday = today(ledger) - timedelta(days=1)
    order(status="draft", sku="T")
    late = order(status="draft", due_on=yesterday)

    with pytest.raises(ServiceError) as refused:
        services.send_order(order_ref="X-1")

    assert (refused.value.field, refused.value.value) == ("due_on", yesterday)
    assert refused.value.rule == (
        f"not before {today(ledger)}: choose a later day for these lines, or delete the lines: "
        f"line {late} (S, {yesterday})"
    )
    assert line(ledger, late) == ("draft", 10, None, 0)
    services.move_due_date(line_id=late, due_on=today(ledger))
    services.send_order(order_ref="X-1")
    assert line(ledger, late) == ("sent", 10, None, 0)


def test_a_draft_that_is_due_today_is_sent(ledger: psycopg.Connection) -> None:
    draft = order(status="draft", due_on=today(ledger))

    services.send_order(order_ref="X-1")

    assert line(ledger, draft) == ("sent", 10, None, 0)


def test_refusal_names_only_the_first_five_lines_past_their_due_day(
    ledger: psycopg.Connection,
) -> None:
    late = [order(status="draft", sku=f"S{n}", due_on=ORDERED.date()) for n in range(7)]

    with pytest.raises(ServiceError) as refused:
        services.send_order(order_ref="X-1")

    assert f"line {late[4]} (S4, 2026-03-02), 2 more" in refused.value.rule
    assert f"line {late[5]}" not in refused.value.rule


def test_order_below_the_supplier_minimum_is_sent_only_if_allowed(
    ledger: psycopg.Connection,
) -> None:
    services.name_suppliers(names={"ACME": "Acme"})
    order(status="draft")
    ledger.execute("UPDATE retail.purchase_order_line SET cost_minor = 100")
    services.set_supplier_terms(services.SetSupplierTerms(code="ACME", minimum_order_minor=1001))
    with pytest.raises(ServiceError, match=r"minimum of €10\.01"):
        services.send_order(order_ref="X-1")

    services.send_order(order_ref="X-1", below_minimum_allowed=True)
    order(status="draft", order_ref="X-2")
    ledger.execute("UPDATE retail.purchase_order_line SET cost_minor = 100")
    services.set_supplier_terms(services.SetSupplierTerms(code="ACME", minimum_order_minor=1000))
    services.send_order(order_ref="X-2")


def test_no_order_goes_to_a_supplier_that_is_not_active(ledger: psycopg.Connection) -> None:
    services.name_suppliers(names={"ACME": "Acme"})
    services.set_supplier_terms(services.SetSupplierTerms(code="ACME", is_active=False))
    order(status="draft")

    with pytest.raises(ServiceError, match="this supplier is not active"):
        services.send_order(order_ref="X-1")


def test_an_order_without_a_draft_line_cannot_be_sent(ledger: psycopg.Connection) -> None:
    with pytest.raises(ServiceError, match="no order with a draft line"):
        services.send_order(order_ref="X-9")


def test_an_order_is_sent_once(ledger: psycopg.Connection) -> None:
    ledger.execute("INSERT INTO app.purchase_order (supplier, location) VALUES ('ACME', 'L')")
    found = ledger.execute("SELECT order_ref FROM app.purchase_order").fetchone()
    assert found is not None
    order(status="draft", order_ref=found[0])

    outcomes = at_the_same_time(
        *(
            lambda actor=actor: services.send_order(order_ref=found[0], actor=actor)
            for actor in ("ann", "bob")
        )
    )

    [loser] = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    assert re.fullmatch(rf"(ann|bob) has already sent {found[0]}, {WHEN}", loser.what_changed)


def test_an_order_that_grew_since_it_was_shown_is_not_sent(ledger: psycopg.Connection) -> None:
    first = order(status="draft")
    shown = f"1@{version(ledger, first)}"
    order(5, sku="T", status="draft", actor="bob")

    with pytest.raises(Conflict, match=rf"by bob, {WHEN}\. It now has 2 draft lines, 15 units"):
        services.send_order(order_ref="X-1", shown_version=shown)


def test_conflict_names_the_person_who_deleted_an_order_line(
    ledger: psycopg.Connection,
) -> None:
    order(status="draft", actor="bob")
    second = order(5, sku="T", status="draft", actor="bob")
    shown = f"2@{version(ledger, second)}"
    services.delete_order_line(line_id=second, actor="ann")

    with pytest.raises(Conflict, match=rf"by ann, {WHEN}\. It now has 1 draft line, 10 units"):
        services.send_order(order_ref="X-1", shown_version=shown)


def test_conflict_names_the_writer_of_a_direct_sql_change(
    ledger: psycopg.Connection,
) -> None:
    first = order(status="draft", actor="bob")
    shown = f"1@{version(ledger, first)}"
    ledger.execute("UPDATE retail.purchase_order_line SET ordered_units = 7, recorded_by = 'edi'")

    with pytest.raises(Conflict, match=rf"by edi, {WHEN}\. It now has 1 draft line, 7 units"):
        services.send_order(order_ref="X-1", shown_version=shown)
