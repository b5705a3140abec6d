"""Access to every address, as every role, for one's own store and for another one.

Sends real requests to a real Postgres. Both stores have rows in every table that pages read. No
answer to a person of one store may contain a mark of the other store.
"""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.test import Client

from tests.ledger import addresses
from tests.ledger.addresses import (
    COMPANY,
    COMPANY_FORMS,
    COMPANY_PAGES,
    FORMS,
    LISTS,
    PAGES,
    sent,
)
from tests.ledger.fingerprint import fingerprint, without_results
from tests.ledger.pages import logged_in
from tests.ledger.planted import PERSON, Store, two_stores
from tests.ledger.routes import rule_of, rules_of, url_names

ROLES = ("associate", "manager", "buyer", "lead", "pricing", "analyst", "operator")
REFUSED = {403, 404}
# The form of transfers lists the codes of all locations, and nothing else of other stores.
UNKNOWN = {"reorders-approve": "no such proposal", "orders-send": "no order with a draft line"}
NAMES = {"transfers", "transfers-ask", "transfers-step"}
# Find and Scan show each store's available units, but no other data of it (decision 0046).
UNITS = {"find", "scan"}


@pytest.fixture(scope="module")
def stores(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """The person's store and another one. Requests of this file change no other store."""
    with two_stores(request) as found:
        yield found


def visitor(role: str, *stores: str) -> Client:
    """Return a client of a person with this role who works in `stores`, or everywhere."""
    people = import_module("ledger.people")  # here, because it needs Django set up
    user, _ = people.User.objects.get_or_create(username=PERSON)
    user.groups.set([people.create_roles()[role]])
    people.write_memberships(user, everywhere=not stores, stores=stores)
    return logged_in(user)


def may(role: str, name: str) -> bool:
    """Return True if the table of roles gives the role the right that the address requires."""
    groups = import_module("webui.accounts.roles").GROUPS_OF[rule_of(name).ability]
    return not groups or role in groups


def body(answer: Any) -> str:
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return str(content.decode())


def assert_holds_nothing_of(store: Store, text: str, *, named: bool, address: str) -> None:
    marks = store.marks if named else (*store.marks, store.location)
    leaked = [mark for mark in marks if mark in text]
    assert not leaked, f"{address} holds {leaked}"


def without_units_of(store: Store, text: str) -> str:
    """Return a page without its one line about the available units of another store."""
    name, units = f"{store.tag.title()} street", f"{store.on_hand_units:,}"
    line = f"<li><span>{name}</span> <b>{units}</b></li>"
    total = f"<b>{48_151 + 62_342:,}</b> available in all, in 2 locations"
    assert text.count(line) == 1
    assert total in text
    return text.replace(line, "")


def asked(path: str, location: str) -> str:
    return f"{path}{'&' if '?' in path else '?'}location={location}"


def test_every_url_is_listed_in_addresses_py_and_has_an_access_rule(database: str) -> None:
    listed = {*LISTS, *COMPANY, *COMPANY_PAGES, *PAGES, *FORMS, *COMPANY_FORMS}
    every = url_names() - addresses.OPEN - addresses.STREAMS - addresses.PEOPLE
    programs = {name for name in every if name.startswith("api-")}

    assert programs == addresses.API
    assert [name for name in programs if not rules_of(name)] == []
    every -= programs
    assert every == listed, "tests/ledger/addresses.py lists each address of urls.py by its name"
    assert [name for name in every if rule_of(name) is None] == []


@pytest.mark.parametrize("role", ROLES)
def test_pages_show_own_stores_only(stores: tuple[Store, Store], role: str) -> None:
    own, other = stores
    client = visitor(role, own.location)

    for name, path in {**LISTS, **COMPANY}.items():
        answer = client.get(path)
        assert answer.status_code == (200 if may(role, name) else 403), name
        shown = body(answer)
        if name in UNITS:
            shown = without_units_of(other, shown)
        assert_holds_nothing_of(other, shown, named=name in NAMES, address=name)
    for name, path in LISTS.items():
        answer = client.get(asked(path, own.location))
        assert answer.status_code == (200 if may(role, name) else 403), name
        refused = client.get(asked(path, other.location))
        assert refused.status_code == 403, name
        assert_holds_nothing_of(other, body(refused), named=True, address=name)
    for name, path in COMPANY_PAGES.items():
        assert client.get(path).status_code == 403, name
    for name, page in PAGES.items():
        answer = client.get(page(own))
        assert answer.status_code == (200 if may(role, name) else 403), name
        assert_holds_nothing_of(other, body(answer), named=False, address=name)
        refused = client.get(page(other))
        assert refused.status_code in REFUSED, name
        assert_holds_nothing_of(other, body(refused), named=True, address=name)


@pytest.mark.parametrize("role", ROLES)
def test_actions_about_another_store_change_nothing(stores: tuple[Store, Store], role: str) -> None:
    own, other = stores
    client = visitor(role, own.location)
    before = without_results()

    for name, form in FORMS.items():
        path, fields = form(other)
        answer = client.post(path, sent(fields))
        # Bulk forms answer for a need or an order of another store as for an unknown one.
        is_unknown = name in UNKNOWN and UNKNOWN[name] in body(answer)
        assert is_unknown or answer.status_code in REFUSED, (name, answer.status_code)
        assert_holds_nothing_of(other, body(answer), named=True, address=name)
    for name, (path, fields) in COMPANY_FORMS.items():
        assert client.post(path, sent(fields)).status_code == 403, name

    assert without_results() == before


@pytest.mark.parametrize("role", ROLES)
def test_actions_in_the_own_store_need_only_the_right_of_the_role(
    stores: tuple[Store, Store], role: str
) -> None:
    own, other = stores
    client = visitor(role, own.location)

    for name, form in FORMS.items():
        path, fields = form(own)
        answer = client.post(path, sent(fields))
        is_refused = answer.status_code == 403
        assert is_refused is not may(role, name), (name, answer.status_code)
        assert_holds_nothing_of(other, body(answer), named=name in NAMES, address=name)


@pytest.mark.parametrize("role", ROLES)
def test_people_of_all_stores_need_only_the_right_of_the_role(
    stores: tuple[Store, Store], role: str
) -> None:
    _own, other = stores
    client = visitor(role)

    for name, path in COMPANY_PAGES.items():
        assert client.get(path).status_code == (200 if may(role, name) else 403), name
    for name, page in PAGES.items():
        answer = client.get(page(other))
        assert answer.status_code == (200 if may(role, name) else 403), name
    shown = body(client.get("/"))

    assert other.secret in shown
    assert other.location in shown


def test_requests_without_a_login_redirect_to_the_login_page(stores: tuple[Store, Store]) -> None:
    own, _ = stores
    client = Client(SERVER_NAME="localhost")
    before = fingerprint()

    records = {name: page(own) for name, page in PAGES.items()}
    for name, path in {**LISTS, **COMPANY, **COMPANY_PAGES, **records}.items():
        answer = client.get(path)
        assert (answer.status_code, answer["Location"].partition("?")[0]) == (302, "/login/"), name
    for name, form in FORMS.items():
        path, fields = form(own)
        assert client.post(path, sent(fields))["Location"].startswith("/login/"), name

    assert fingerprint() == before


def test_a_person_of_an_unknown_store_sees_no_store_data(stores: tuple[Store, Store]) -> None:
    own, _ = stores
    client = visitor("associate", "NOWHERE-1")

    assert own.secret not in body(client.get("/"))
    assert client.get(f"/items/{own.location}/ASKED").status_code == 403


def test_a_member_of_a_region_sees_the_stores_of_the_region(stores: tuple[Store, Store]) -> None:
    own, other = stores
    people = import_module("ledger.people")
    client = visitor("associate", "NOWHERE-1")
    user = people.User.objects.get(username=PERSON)
    people.write_memberships(user, regions=("NORTH",))
    people.write_region(own.location, "NORTH")

    shown = body(client.get("/stock.csv"))

    assert own.secret in shown
    assert other.secret not in shown
