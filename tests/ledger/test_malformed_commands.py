"""Malformed commands change nothing.

Every address that changes something gets forms that no page sends, by a person with all rights.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client

from tests.ledger import addresses
from tests.ledger.addresses import COMPANY_FORMS, FORMS, PEOPLE_FORMS, Form, sent
from tests.ledger.conftest import empty
from tests.ledger.fingerprint import fingerprint
from tests.ledger.inbox import emptied
from tests.ledger.pages import logged_in
from tests.ledger.planted import Store, plant

STRANGE = ("☃", "-1", "9" * 400, "2")


@pytest.fixture(scope="module")
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    server, database = request.getfixturevalue("server"), request.getfixturevalue("database")
    with psycopg.connect(server.url("postgres", database), autocommit=True) as rows:
        empty(rows)
        emptied(rows)
        rows.execute("INSERT INTO retail.supplier (code, name) VALUES ('ACME', 'Acme')")
        yield plant(rows, "MINE", 48_151)
        empty(rows)
        emptied(rows)


@pytest.fixture(scope="module")
def almighty(store: Store) -> Client:
    people = import_module("ledger.people")  # here, because it needs Django set up
    user, _ = people.User.objects.get_or_create(username="almighty")
    user.is_superuser = True
    user.save()
    people.write_memberships(user, everywhere=True)
    return logged_in(user)


def forms(store: Store) -> dict[str, tuple[str, Form]]:
    return {**{name: form(store) for name, form in FORMS.items()}, **COMPANY_FORMS, **PEOPLE_FORMS}


def only_strange(fields: Form, value: str) -> Form:
    """Return the form with one invalid value in every field."""
    return dict.fromkeys([*fields, "command_id"], value)


def strange_choices(fields: Form) -> list[Form]:
    """Return the forms of a page with required values replaced or removed."""
    chosen = [name for name in ("action", "stop", "opening", "subject", "accept") if name in fields]
    changed = [sent(fields) | {name: value} for name in chosen for value in ("", *STRANGE)]
    left_out = [{n: v for n, v in sent(fields).items() if n != name} for name in chosen]
    return [*changed, *left_out]


CRAFTED: dict[str, Callable[[Form], list[Form]]] = {
    "empty": lambda _fields: [{}],
    "strange values": lambda fields: [only_strange(fields, value) for value in STRANGE],
    "strange choices": strange_choices,
}
# Their address contains all values of the command, so such bodies are no error.
STATED_BY_ADDRESS = {("counts-submit", "empty"), ("counts-submit", "strange values")}


def test_pages_without_a_form_answer_405_to_post(store: Store, almighty: Client) -> None:
    posted = {*forms(store)}
    pages = {name: page(store) for name, page in addresses.PAGES.items()}

    for name, path in {**addresses.LISTS, **addresses.COMPANY, **pages}.items():
        if name not in posted:
            assert almighty.post(path).status_code == 405, name


@pytest.mark.parametrize("kind", CRAFTED)
def test_a_malformed_command_is_refused_and_changes_nothing(
    store: Store, almighty: Client, kind: str
) -> None:
    for name, (path, fields) in forms(store).items():
        if (name, kind) in STATED_BY_ADDRESS:
            continue
        for crafted in CRAFTED[kind](fields):
            before = fingerprint()
            answer: Any = almighty.post(path, crafted)

            assert 400 <= answer.status_code < 500, (name, crafted, answer.status_code)
            assert fingerprint() == before, (name, crafted)


@pytest.mark.parametrize("given", [{}, {"stop": ""}, {"stop": "on"}, {"stop": "2"}, {"other": "1"}])
def test_malformed_stop_command_leaves_rule_prices_stopped(
    store: Store, almighty: Client, given: dict[str, str]
) -> None:
    almighty.post("/prices/stop", {"stop": "1"})

    answer = almighty.post("/prices/stop", given)

    assert answer.status_code == 422
    assert "1 to stop rule-made prices, or 0 to allow them again" in answer.content.decode()
    with connection.cursor() as cursor:
        cursor.execute("SELECT price_kill_switch FROM app.setting")
        assert cursor.fetchone() == (True,)
    almighty.post("/prices/stop", {"stop": "0"})
