"""Refusals in plain words, without column names, code or Python quotes."""

import re
from datetime import UTC, date, datetime, timedelta, timezone

import psycopg
import pytest
from django.test import override_settings

from ledger import services
from ledger.kernel.refusal_text import moment_text, refusal_text
from ledger.kernel.refusal_text import person as person_text
from ledger.messages import Message
from ledger.nouns import counted
from ledger.pricing.prices import FirstPrice
from ledger.services import Conflict, ServiceError
from tests.ledger.pages import form, person
from tests.ledger.rows import write

pytestmark = pytest.mark.usefixtures("database")  # amounts need the setting of the currency
AT = datetime(2026, 11, 21, 10, 42, 7, tzinfo=UTC)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("quantity_units", "many", "Units: the rule; got “many”."),
        ("units", 1_000_001, "Units: the rule; got 1,000,001."),
        ("units", -6, "Units: the rule; got -6."),
        ("price_minor", 649, "Price: the rule; got €6.49."),
        ("price_minor", "6,49", "Price: the rule; got “6,49”."),
        ("sku", "ab|c", "SKU: the rule; got “ab|c”."),
        ("due_on", date(2026, 11, 20), "Due: the rule; got 2026-11-20."),
        ("occurred_at", AT, "When: the rule; got 2026-11-21 10:42 UTC."),
        ("until_at", AT.replace(tzinfo=None), "Until: the rule; got 2026-11-21 10:42."),
        ("count_id", 13821, "Count id: the rule; got 13821."),
        ("is_active", True, "Active: the rule; got yes."),
        ("is_active", False, "Active: the rule; got no."),
        ("Received of MUG-1 blue", "x", "Received of MUG-1 blue: the rule; got “x”."),
        ("reason", None, "Reason: the rule."),
        ("reason", "", "Reason: the rule."),
        ("note", "n" * 70, f"Note: the rule; got “{'n' * 60}…”."),
        ("actor", "ann", "The rule."),
        ("form", "badly formed hexadecimal UUID string", "The rule."),
    ],
)
def test_a_refusal_names_field_rule_and_value_as_the_page_does(
    field: str, value: object, sentence: str
) -> None:
    assert refusal_text(ServiceError(field, value, "the rule")) == sentence


@pytest.mark.parametrize(
    ("what", "english", "german"),
    [
        ("the item is ranged", "The item is ranged", "Der Artikel ist gelistet"),
        (Message("%(who)s has sent it", who="ann"), "ann has sent it", "ann sandte ihn"),
        (
            Message("%(who)s has sent it", who=person_text(None)),
            "The system has sent it",
            "Das System sandte ihn",
        ),
        (Message("line %(id)s is sent", id=7), "Line 7 is sent", "7 ist gesendet"),
        (counted(1, "unit"), "1 unit", "1 Einheit"),
        (counted(2, "unit"), "2 units", "2 Einheiten"),
    ],
)
def test_a_conflict_begins_with_a_capital_letter_unless_it_begins_with_a_value(
    what: str, english: str, german: str
) -> None:
    texts = {
        "the item is ranged": "der Artikel ist gelistet",
        "%(who)s has sent it": "%(who)s sandte ihn",
        "the system": "das System",
        "line %(id)s is sent": "%(id)s ist gesendet",
        "%(number)s unit": "%(number)s Einheit",
        "%(number)s units": "%(number)s Einheiten",
        "%(what)s. Nothing was written.": "%(what)s. Es wurde nichts geschrieben.",
    }

    assert Conflict(what).text == f"{english}. Nothing was written."

    def in_german(one: str, many: str = "", number: int = 1) -> str:
        return texts[many if many and number != 1 else one]

    assert Conflict(what).said(in_german) == f"{german}. Es wurde nichts geschrieben."


def test_a_time_in_a_message_is_in_the_time_zone_of_the_stores() -> None:
    meant = AT.astimezone(timezone(timedelta(hours=5)))

    assert moment_text(meant) == "2026-11-21 10:42 UTC"
    with override_settings(STORES_TIME_ZONE="Europe/Berlin"):
        assert moment_text(meant) == "2026-11-21 11:42 CET"
        assert moment_text(datetime.max.replace(tzinfo=UTC)) == "9999-12-31 23:59 UTC"


@pytest.mark.parametrize(
    ("role", "path", "fields"),
    [
        ("buyer", "/reorders/decide", {"action": "approve", "units": "x", "command_id": "y"}),
        ("buyer", "/reorders/decide", {"action": "split", "units": "6", "units1": "six"}),
        ("buyer", "/reorders/decide", {"action": "snooze", "days": "91"}),
        ("pricing", "/prices/items/L/S/change", {"action": "manual", "price": "six"}),
        ("pricing", "/prices/items/L/S/change", {"action": "manual", "price": "0.01"}),
        ("associate", "/counts/adjust/", {"action": "book", "occurred_at": "soon"}),
        ("associate", "/counts/adjust/", {"action": "book", "occurred_at": "1999-01-01T10:00"}),
        ("associate", "/counts/adjust/", {"action": "book", "reason": "because"}),
        ("manager", "/counts/waiting/decide", {"action": "approve", "subject": "count-x"}),
        ("manager", "/counts/history/void", {"count_id": "1"}),
    ],
)
def test_refusals_on_pages_contain_no_technical_terms(
    ledger: psycopg.Connection, role: str, path: str, fields: dict[str, str]
) -> None:
    write(ledger, "item_location", cost_minor=500)
    given = {"location": "L", "sku": "S", "reason": "theft", "quantity_units": "1"} | fields

    answer = person(role).post(path, form("R:L|S:1-2", 1, **given))

    assert answer.status_code == 422
    [said] = re.findall(r'role="alert">(.*?)</p>', answer.content.decode())
    assert said.endswith(".")
    for word in ("datetime", "UUID", "literal", "&#x27;", "_", "T10:00", "hexadecimal"):
        assert word not in said


def test_a_violated_constraint_is_named_without_showing_the_row(ledger: psycopg.Connection) -> None:
    price = FirstPrice("L", "S", 700, 750, AT)

    with pytest.raises(ServiceError) as refused:
        services.set_first_prices(prices=[price])

    said = refusal_text(refused.value)
    assert said == (
        "Price change floor: a value breaks this rule of the database: correct it, or ask an "
        "operator."
    )
    assert "Failing row" in str(refused.value.__cause__)


def test_an_invalid_price_is_quoted_as_typed_and_stays_in_its_form(
    ledger: psycopg.Connection,
) -> None:
    write(ledger, "item_location", cost_minor=500)

    answer = person("pricing").post(
        "/prices/items/L/S/change", form("L|S", 0, action="manual", price="6,49")
    )

    page = answer.content.decode()
    assert "Price: an amount from 0.01 to 10,000,000.00, like 6.49; got “6,49”." in page
    assert 'name="price" type="text" inputmode="decimal"' in page
    assert page.count('value="6,49"') == 1
