"""The terms on a supplier's page: of two editors, the second sees the first one's changes."""

import html
import re
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.test import Client

from ledger import services
from ledger.services import Conflict
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.pages import person

PAGE = "/suppliers/ACME/"
WHEN = r"\d{4}-\d\d-\d\d \d\d:\d\d UTC"
SHOWN = {
    "is_active": True,
    "minimum_order_minor": 0,
    "order_days_mask": 127,
    "lead_time_centidays": 0,
    "email": "",
    "address": "",
}


@pytest.fixture(autouse=True)
def supplier(ledger: psycopg.Connection) -> None:
    """Write supplier ACME, and a scorecard of supplier BOLT."""
    services.name_suppliers(names={"ACME": "Acme"})
    ledger.execute(
        "INSERT INTO app.scorecard (supplier, location, on_day, receipts, settled_lines,"
        " due_receipts, items_written) VALUES ('BOLT', 'LONDON', '2026-11-01', 0, 0, 0, 0)"
    )


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def filled(client: Client, **typed: object) -> dict[str, str]:
    """Return the form of the page as rendered, with the typed values."""
    page = text(client.get(PAGE))
    fields = dict(re.findall(r'name="(\w+)"[^>]* value="([^"]*)"', page.split('id="terms"')[1]))
    days = re.findall(r'name="(day-\w+)" value="1" checked', page)
    fields |= dict.fromkeys(days, "1") | {"command_id": str(uuid4())}
    return {name: html.unescape(value) for name, value in fields.items()} | {
        name: str(value) for name, value in typed.items()
    }


def save(client: Client, fields: dict[str, str]) -> Any:
    return client.post("/suppliers/terms", fields)


def terms(ledger: psycopg.Connection) -> Any:
    return ledger.execute(
        "SELECT is_active, minimum_order_minor, order_days_mask, lead_time_centidays, email"
        " FROM retail.supplier"
    ).fetchone()


def test_terms_are_changed_on_the_page_of_the_supplier(ledger: psycopg.Connection) -> None:
    client = person("buyer")
    fields = filled(client, minimum_order=50, lead_time="3", email="o@acme.x")
    for day in ("day-Tue", "day-Wed", "day-Fri", "day-Sat", "day-Sun", "is_active"):
        del fields[day]

    answer = save(client, fields)

    assert (answer.status_code, answer["Location"]) == (302, "/suppliers/ACME/?#terms")
    assert terms(ledger) == (False, 5000, 0b1001, 300, "o@acme.x")
    assert "Changed: active, minimum order, order days, lead time, email." in text(client.get(PAGE))


def test_the_largest_minimum_order_can_be_typed(ledger: psycopg.Connection) -> None:
    client = person("buyer")

    assert save(client, filled(client, minimum_order="1,000,000,000.00")).status_code == 302


def test_a_stale_form_gets_a_conflict_with_the_changes_and_keeps_its_input(
    ledger: psycopg.Connection,
) -> None:
    client = person("buyer")
    late = filled(client, minimum_order="20.00", address="1 Mill Lane")
    services.set_supplier_terms(
        services.SetSupplierTerms(code="ACME", minimum_order_minor=1000), actor="ann"
    )

    answer = save(client, late)

    page = html.unescape(text(answer))
    assert answer.status_code == 409
    said = (
        rf"Acme has changed since it was shown. Last change by ann, {WHEN}: "
        r"minimum order is €10\.00, was €0\.00"
    )
    assert re.search(said, page)
    assert re.search(r'name="minimum_order" type="text" inputmode="decimal".* value="20\.00"', page)
    assert 'value="1 Mill Lane"' in page
    assert terms(ledger)[1] == 1000

    again = late | {"shown": re.findall(r'name="shown" value="([^"]+)"', text(answer))[0]}
    again = {name: html.unescape(value) for name, value in again.items()}
    assert save(client, again | {"command_id": str(uuid4())}).status_code == 302
    assert terms(ledger)[1] == 2000


def test_a_refused_form_still_detects_a_change_by_another_person() -> None:
    client = person("buyer")
    mistyped = filled(client, minimum_order="x")
    services.set_supplier_terms(
        services.SetSupplierTerms(code="ACME", minimum_order_minor=1000), actor="ann"
    )

    refused = save(client, mistyped)
    [shown] = re.findall(r'name="shown" value="([^"]+)"', text(refused))
    corrected = mistyped | {"minimum_order": "20.00", "shown": html.unescape(shown)}

    assert refused.status_code == 422
    assert save(client, corrected | {"command_id": str(uuid4())}).status_code == 409


def test_a_conflict_names_each_changed_term_in_readable_form() -> None:
    services.set_supplier_terms(
        services.SetSupplierTerms(code="ACME", is_active=False, order_days_mask=3, email="x@y.z")
    )

    with pytest.raises(Conflict) as refused:
        services.set_supplier_terms(
            services.SetSupplierTerms(code="ACME", lead_time_centidays=100), shown=SHOWN
        )

    assert re.fullmatch(
        rf"Acme has changed since it was shown. Last change by the system, {WHEN}: "
        r"active is no, was yes,"
        r" order days is Mon Tue, was Mon Tue Wed Thu Fri Sat Sun, email is x@y\.z, was empty",
        refused.value.what_changed,
    )


def test_a_conflict_names_the_system_if_the_changing_person_is_unknown(
    ledger: psycopg.Connection,
) -> None:
    ledger.execute("UPDATE retail.supplier SET lead_time_centidays = 300")

    with pytest.raises(Conflict, match="by the system: lead time is 300, was 0"):
        services.set_supplier_terms(
            services.SetSupplierTerms(code="ACME", is_active=False), shown=SHOWN
        )


def test_when_three_people_save_terms_at_once_two_get_a_conflict(
    ledger: psycopg.Connection,
) -> None:
    outcomes = at_the_same_time(
        *(
            lambda days=days: services.set_supplier_terms(
                services.SetSupplierTerms(code="ACME", lead_time_centidays=days), shown=SHOWN
            )
            for days in (100, 200, 300)
        )
    )

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 2


def test_a_double_click_changes_terms_once(ledger: psycopg.Connection) -> None:
    client = person("buyer")
    fields = filled(client, minimum_order=50)

    assert [save(client, fields).status_code for _ in range(2)] == [302, 302]


@pytest.mark.parametrize(
    ("changes", "status", "rule"),
    [
        ({"minimum_order": "1000000000.01"}, 422, "an amount from 0.00 to 1,000,000,000.00"),
        ({"minimum_order": ""}, 422, "Minimum order: an amount from 0.00"),
        ({"lead_time": "soon"}, 422, "Lead time: days from 0 to 1,000, like 2.5; got “soon”."),
        ({"lead_time": "1000.01"}, 422, "Lead time: days from 0 to 1,000, like 2.5"),
        ({"supplier": "NOBODY"}, 404, "No such supplier"),
        ({"supplier": ""}, 404, "No such supplier"),
        ({"shown": ""}, 422, "reload it"),
        ({"shown": "[1]"}, 422, "reload it"),
        ({"shown": "[" * 5000}, 422, "reload it"),
        ({"shown": "{}"}, 422, "reload it"),
        ({"command_id": "no"}, 422, "reload it"),
    ],
)
def test_invalid_terms_are_refused(
    ledger: psycopg.Connection, changes: dict[str, str], status: int, rule: str
) -> None:
    client = person("buyer")
    before = terms(ledger)

    answer = save(client, filled(client, minimum_order="0.07") | changes)

    assert answer.status_code == status
    assert rule in text(answer)
    assert terms(ledger) == before


def test_terms_without_an_order_day_are_refused_and_days_stay_unticked(
    ledger: psycopg.Connection,
) -> None:
    client = person("buyer")
    fields = filled(client)
    none = {name: value for name, value in fields.items() if not name.startswith("day-")}

    answer = save(client, none)

    assert answer.status_code == 422
    assert "checked> Mon" not in text(answer)


def test_an_associate_reads_supplier_terms_but_cannot_change_them(
    ledger: psycopg.Connection,
) -> None:
    services.set_supplier_terms(
        services.SetSupplierTerms(code="ACME", minimum_order_minor=5000, order_days_mask=3)
    )
    client = person("associate")

    page = text(client.get(PAGE))

    assert "Save terms" not in page
    assert "50.00" in page
    assert "Mon Tue </dd>" in page
    assert save(client, {"supplier": "ACME"}).status_code == 403
