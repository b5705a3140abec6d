"""The admin for tests: rows of its tables, an operator, and forms as its pages render them."""

import html
import re
from typing import Any

import psycopg
import pytest
from django.test import Client

from ledger import services
from ledger.services import DescribeLocation, DescribeProduct, DescribeSupplier
from tests.ledger.addresses import COMPANY_FORMS, COMPANY_PAGES
from tests.ledger.pages import person
from tests.ledger.planted import plant_codes

ADMIN = {name: path for name, path in COMPANY_PAGES.items() if path.startswith("/admin/")}
FORMS = {name: form for name, form in COMPANY_FORMS.items() if form[0].startswith("/admin/")}
MUG = "/admin/ledger/product/MUG/change/"


@pytest.fixture
def rows(ledger: psycopg.Connection) -> psycopg.Connection:
    """Write a product with two codes, a location and a supplier. The audit log stays empty."""
    ledger.execute("DELETE FROM app.refusal")
    services.add_reference(DescribeProduct("MUG", "Mug", "Kitchen"))
    services.add_reference(DescribeLocation("DC-1", "Depot", "warehouse", "Quay 1\nHamburg"))
    services.add_reference(DescribeSupplier("ACME", "Acme"))
    plant_codes(ledger, "MUG")
    ledger.execute("DELETE FROM app.action_chain; DELETE FROM app.action_log")
    return ledger


def operator() -> Client:
    return person("operator", "olga")


def text(answer: Any) -> str:
    return re.sub(r"\s+", " ", answer.content.decode())


def filled(client: Client, path: str, **typed: str) -> dict[str, str]:
    """Return the form of a page as rendered, with the typed values."""
    page = client.get(path).content.decode().partition('<form class="card')[2]
    fields = dict(re.findall(r'<input[^>]* name="(\w+)"[^>]*? value="([^"]*)"', page))
    fields |= {n: v.lstrip() for n, v in re.findall(r'<textarea name="(\w+)"[^>]*>([^<]*)<', page)}
    fields |= re.findall(r'<select name="(\w+)"[^>]*>.*?value="(\w+)" selected', page, re.DOTALL)
    return {name: html.unescape(value) for name, value in fields.items()} | typed


def audit(rows: psycopg.Connection) -> list[tuple[Any, ...]]:
    return rows.execute(
        "SELECT actor, action, subject, detail FROM app.action_log"
        " WHERE action ~ '^(add|change)_' ORDER BY id"
    ).fetchall()
