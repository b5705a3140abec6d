"""The admin and the import of codes in other languages: labels, hints, messages and refusals."""

import html
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.imports.code_import import check_codes
from ledger.services import DescribeProduct
from tests.ledger.addresses import COMPANY_FORMS, sent
from tests.ledger.administered import FORMS, MUG, filled, operator, rows, text
from tests.ledger.coded import OLD, coded
from tests.ledger.planted import Store
from tests.ledger.test_access_matrix import visitor
from tests.ledger.test_code_import import WRONG
from tests.ledger.test_languages import in_pseudo, locale, stores, untranslated
from tests.translation.pseudo import pseudo_language

__all__ = ["coded", "locale", "rows", "stores"]
IMPORT = "/codes/import"
COLUMNS = "sku,code,supplier,units,active"
# Codes, names and the person of the planted rows, and the columns of a file.
DATA = {*("MUG", "Mug", "MUG · Onhand", "ACME", "Acme", "Kitchen", "olga"), COLUMNS}


def german(client: Any) -> Any:
    client.cookies["django_language"] = "de"
    return client


def imported(client: Any, content: str) -> Any:
    form = {"rows": content, "action": "import", "command_id": str(uuid4())}
    return client.post(IMPORT, form)


def test_every_form_of_the_admin_goes_through_gettext(
    stores: tuple[Store, Store], locale: Path
) -> None:
    found = {}
    with pseudo_language(locale):
        client = in_pseudo(visitor("operator"))
        for name, (path, fields) in COMPANY_FORMS.items():
            if name in FORMS or path == IMPORT:
                emptied = sent(dict.fromkeys(fields, ""))
                found[name] = {*untranslated(client.get(path))} - DATA
                found[f"{name}, refused"] = {*untranslated(client.post(path, emptied))} - DATA

    assert len(found) == 22
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_results_and_conflicts_of_the_admin_go_through_gettext(
    rows: psycopg.Connection, locale: Path
) -> None:
    add = "/admin/ledger/supplier/add/"
    with pseudo_language(locale):
        client = in_pseudo(operator())
        client.post(add, filled(client, add, code="MUG", name="Mug"))
        added = client.get("/admin/ledger/supplier/")
        form = filled(client, MUG, name="Beaker")
        services.change_reference(DescribeProduct("MUG", "Cup", "Kitchen"), actor="otto")
        conflict = client.post(MUG, form)
        client.post(MUG, filled(client, MUG, name="MUG"))
        changed = client.get("/admin/ledger/product/")
        taken = client.post(add, filled(client, add, code="MUG", name="Mug"))

    assert (added.status_code, conflict.status_code, taken.status_code) == (200, 409, 422)
    for page in (added, conflict, changed, taken):
        assert {*untranslated(page)} <= DATA


def test_every_wrong_row_of_an_import_goes_through_gettext(
    coded: psycopg.Connection, locale: Path
) -> None:
    content = "\n".join([COLUMNS, *(row for row, _ in WRONG)])
    files = (content, "sku,price", 'sku,code\nMUG,"1', "sku,code\nMUG,1\n" * 3_000, "x" * 500_001)
    with pseudo_language(locale):
        client = in_pseudo(operator())
        answers = [imported(client, each) for each in files]

    assert [answer.status_code for answer in answers] == [422] * len(files)
    assert {text for answer in answers for text in untranslated(answer)} <= DATA


def test_code_import_page_is_german_while_recorded_reasons_stay_english(
    coded: psycopg.Connection,
) -> None:
    client = german(operator())
    content = f"sku,code\nCUP,036000291452\nMUG,{OLD}\nMUG,1"

    page = html.unescape(text(imported(client, content)))
    reasons = [bad.reason.partition(":")[0] for bad in check_codes(content).bad_rows]
    done = imported(client, "sku,code\nMUG,036000291452")

    assert "hat die SKU CUP: zuerst das " in page
    assert "Zeile 3</b>: Dies ist ein Code von LAMP, deaktiviert: " in page
    assert done.status_code == 302
    assert "1 Code hinzugefügt, 0 geändert, 0 unverändert." in text(client.get(IMPORT))
    assert reasons == [
        "No product has the SKU CUP",
        "This is a code of LAMP, deactivated",
        "Code",
    ]


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("product", "So steht der Name auf Seiten und Bestellungen."),
        ("gtin", "Ein inaktiver Code wird beim Scannen und Suchen nicht gefunden."),
    ],
)
def test_hints_of_the_admin_are_german(rows: psycopg.Connection, path: str, hint: str) -> None:
    assert hint in text(german(operator()).get(f"/admin/ledger/{path}/add/"))
