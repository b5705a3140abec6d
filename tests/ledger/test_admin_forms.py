"""Forms of the admin: a change writes one audit entry. A refused value stays only in the form."""

import html
import re
from typing import Any

import psycopg
import pytest

from ledger import services
from ledger.audit import chain
from ledger.audit.head import Head
from ledger.services import DescribeProduct
from tests.ledger.administered import MUG, audit, filled, operator, rows, text
from tests.ledger.fingerprint import fingerprint

__all__ = ["rows"]

CHANGES = [
    (
        "/admin/ledger/product/MUG/change/",
        {"name": "Blue mug", "department": "Table"},
        (
            "change_product",
            "MUG",
            {"name": ["Mug", "Blue mug"], "department": ["Kitchen", "Table"]},
        ),
        "SELECT name, department FROM retail.product",
    ),
    (
        "/admin/ledger/location/DC-1/change/",
        {"kind": "store", "address": "Quay 2\r\nHamburg"},
        (
            "change_location",
            "DC-1",
            {"kind": ["warehouse", "store"], "address": ["Quay 1\nHamburg", "Quay 2\nHamburg"]},
        ),
        "SELECT kind, address FROM retail.location",
    ),
    (
        "/admin/ledger/supplier/ACME/change/",
        {"name": "Acme & Sons"},
        ("change_supplier", "ACME", {"name": ["Acme", "Acme & Sons"]}),
        "SELECT name FROM retail.supplier",
    ),
]


@pytest.mark.parametrize(("path", "typed", "entry", "asked"), CHANGES)
def test_an_operator_changes_a_row_with_one_audit_entry(
    rows: psycopg.Connection, path: str, typed: dict[str, str], entry: Any, asked: str
) -> None:
    client = operator()

    answer = client.post(path, filled(client, path, **typed))

    assert (answer.status_code, answer["Location"]) == (
        302,
        path.replace(f"{entry[1]}/change/", ""),
    )
    assert rows.execute(asked).fetchall() == [
        tuple(value.replace("\r", "") for value in typed.values())
    ]
    assert audit(rows) == [("olga", *entry)]
    assert chain.verify(rows, Head()).breaks == ()
    history = html.unescape(text(client.get(path.replace("change/", "history/"))))
    assert f"“{entry[1]}” was changed." in history
    assert f"<b>olga</b>: {entry[0].replace('_', ' ')}. " in history


ADDED = [
    ("product", {"code": "LAMP", "name": "Lamp", "department": ""}),
    ("location", {"code": "ULM-1", "name": "Ulm", "kind": "store", "address": ""}),
    ("supplier", {"code": "BOLT", "name": "Bolt"}),
]


@pytest.mark.parametrize(("table", "typed"), ADDED)
def test_an_operator_adds_a_row_with_one_audit_entry(
    rows: psycopg.Connection, table: str, typed: dict[str, str]
) -> None:
    client, path = operator(), f"/admin/ledger/{table}/add/"
    form = filled(client, path, **typed)

    for _ in range(2):  # the second click of a double click repeats the same command
        answer = client.post(path, form | {"_addanother": "1"})
        assert (answer.status_code, answer["Location"]) == (302, path)

    described = {name: [None, value] for name, value in typed.items() if name != "code"}
    assert audit(rows) == [("olga", f"add_{table}", typed["code"], described)]
    names = ", ".join(typed)
    assert rows.execute(
        f"SELECT {names} FROM retail.{table} WHERE code = %s",  # noqa: S608 -- literals of this file
        [typed["code"]],
    ).fetchall() == [tuple(typed.values())]
    assert typed["code"] in text(client.get(f"/admin/ledger/{table}/"))


def test_a_line_break_of_a_browser_counts_as_one_character(rows: psycopg.Connection) -> None:
    client, path = operator(), "/admin/ledger/location/DC-1/change/"
    longest = "\n".join(["Quay"] * 100)
    sent = longest.replace("\n", "\r\n")

    assert (len(longest), len(sent)) == (499, 598)
    assert client.post(path, filled(client, path, address=sent)).status_code == 302
    assert rows.execute("SELECT address FROM retail.location").fetchall() == [(longest,)]


def test_a_vertical_tab_in_an_address_is_refused(rows: psycopg.Connection) -> None:
    client, path = operator(), "/admin/ledger/location/DC-1/change/"

    answer = client.post(path, filled(client, path, address="Quay 1\vHamburg"))

    assert answer.status_code == 422
    assert "Printable characters only. Nothing was saved." in text(answer)


REFUSED = [
    (MUG, {"name": ""}, "name", "This field is required."),
    (MUG, {"name": "N" * 201}, "name", "at most 200 characters"),
    (MUG, {"name": "a\tb <i>"}, "name", "Printable characters only. Nothing was saved."),
    (
        "/admin/ledger/location/DC-1/change/",
        {"kind": "kiosk"},
        "kind",
        "kiosk is not one of the available choices",
    ),
    (
        "/admin/ledger/location/add/",
        {"code": "ulm", "name": "Ulm"},
        "code",
        "A location is 1 to 24 characters of A-Z, 0-9 and -. Nothing was saved.",
    ),
    (
        "/admin/ledger/product/add/",
        {"code": "A|B", "name": "Both"},
        "code",
        "An SKU has printable characters only, and no |. Nothing was saved.",
    ),
    (
        "/admin/ledger/product/add/",
        {"code": "MUG", "name": "Other"},
        "code",
        "This code is in use: choose another one. Nothing was saved.",
    ),
    (
        "/admin/ledger/supplier/add/",
        {"code": "A|B", "name": "Both"},
        "code",
        "No |, and no space at the start or end. Nothing was saved.",
    ),
]


@pytest.mark.parametrize(("path", "typed", "field", "message"), REFUSED)
def test_a_refused_value_stays_in_the_form_with_an_error_at_its_field(
    rows: psycopg.Connection, path: str, typed: dict[str, str], field: str, message: str
) -> None:
    client = operator()
    form = filled(client, path, **typed)
    before = fingerprint()

    answer = client.post(path, form)

    assert answer.status_code == 422
    page = answer.content.decode()
    shown = html.unescape(page)
    assert re.search(
        rf'<ul class="errorlist" id="id_{field}_error"><li>[^<]*{re.escape(message)}', shown
    )
    assert re.search(rf'<(input|select)[^>]* name="{field}"[^>]* aria-invalid="true"', page)
    for name, value in typed.items():
        is_kept = f'value="{html.escape(value)}"' in page or not value
        assert is_kept or name == "kind", name
    assert 'role="alert"' in page
    assert fingerprint() == before


def test_a_form_of_a_changed_row_gets_a_conflict_and_its_resend_is_saved(
    rows: psycopg.Connection,
) -> None:
    client = operator()
    form = filled(client, MUG, name="Beaker")
    services.change_reference(DescribeProduct("MUG", "Cup", "Kitchen"), actor="otto")

    answer = client.post(MUG, form)

    assert answer.status_code == 409
    assert "MUG has changed since it was shown: name is Cup, was Mug." in text(answer)
    assert 'name="name" value="Beaker"' in text(answer)
    assert [actor for actor, *_ in audit(rows)] == ["otto"]
    shown, command = (
        html.unescape(re.findall(rf'name="{name}" value="([^"]*)"', text(answer))[0])
        for name in ("shown", "command_id")
    )
    again = form | {"shown": shown, "command_id": command}
    assert client.post(MUG, again).status_code == 302
    assert audit(rows)[-1] == ("olga", "change_product", "MUG", {"name": ["Cup", "Beaker"]})


def test_a_resend_of_an_invalid_form_still_detects_a_changed_row(
    rows: psycopg.Connection,
) -> None:
    client = operator()
    form = filled(client, MUG, name="N" * 201)
    services.change_reference(DescribeProduct("MUG", "Cup", "Kitchen"), actor="otto")

    page = text(client.post(MUG, form))
    shown = html.unescape(re.findall(r'name="shown" value="([^"]*)"', page)[0])

    assert shown == form["shown"]
    fixed = form | {"shown": shown, "name": "Beaker"}
    assert client.post(MUG, fixed).status_code == 409


def test_a_form_sent_twice_makes_one_change(rows: psycopg.Connection) -> None:
    client = operator()
    form = filled(client, MUG, name="Beaker")

    assert [client.post(MUG, form).status_code for _ in range(2)] == [302, 302]
    assert len(audit(rows)) == 1


@pytest.mark.parametrize("left_out", ["command_id", "shown"])
def test_a_form_without_a_valid_command_id_or_shown_value_is_refused(
    rows: psycopg.Connection, left_out: str
) -> None:
    client = operator()
    form = filled(client, MUG, name="Beaker")

    answer = client.post(MUG, form | {left_out: "x"})

    assert answer.status_code == 422
    assert "This page is out of date: reload it. Nothing was saved." in text(answer)
    assert audit(rows) == []


@pytest.mark.parametrize("field", ["_saveasnew", "_popup"])
def test_save_as_new_and_popup_requests_are_refused(rows: psycopg.Connection, field: str) -> None:
    client = operator()

    answer = client.post(MUG, filled(client, MUG, code="CUP") | {field: "1"})

    assert answer.status_code == 400
    assert audit(rows) == []


def test_the_history_of_a_supplier_shows_changes_of_its_terms(rows: psycopg.Connection) -> None:
    terms = services.SetSupplierTerms("ACME", order_days_mask=0b11111, email="a@example.org")
    services.set_supplier_terms(terms, actor="bea")

    page = html.unescape(text(operator().get("/admin/ledger/supplier/ACME/history/")))

    assert "<b>bea</b>: supplier terms. " in page
    assert "Order days: Mon Tue Wed Thu Fri, was Mon Tue Wed Thu Fri Sat Sun" in page
    assert "Email: “a@example.org”, was empty" in page


def test_the_code_of_a_row_cannot_be_changed(rows: psycopg.Connection) -> None:
    client = operator()

    client.post(MUG, filled(client, MUG, name="Beaker", code="OTHER"))

    assert rows.execute("SELECT code, name FROM retail.product").fetchall() == [("MUG", "Beaker")]


def test_a_code_with_special_characters_has_a_change_page(rows: psycopg.Connection) -> None:
    services.add_reference(DescribeProduct("A/B_C &1", "<b>Odd</b>"))
    client = operator()
    [path] = re.findall(
        r'href="(/admin/[^"]*_26[^"]*)"', text(client.get("/admin/ledger/product/"))
    )

    page = text(client.get(path))

    assert "&lt;b&gt;Odd&lt;/b&gt;" in page
    assert client.post(path, filled(client, path, name="Even")).status_code == 302
    assert ("Even",) in rows.execute("SELECT name FROM retail.product").fetchall()


def test_the_message_about_a_new_row_has_no_link(rows: psycopg.Connection) -> None:
    client, path = operator(), "/admin/ledger/product/add/"

    answer = client.post(path, filled(client, path, code="A B", name="Both"), follow=True)

    assert "The product “A B” was added." in text(answer)


def test_a_zero_character_in_a_form_gets_status_400(rows: psycopg.Connection) -> None:
    client = operator()

    assert client.post(MUG, filled(client, MUG, name="a\x00b")).status_code == 400
    assert audit(rows) == []
