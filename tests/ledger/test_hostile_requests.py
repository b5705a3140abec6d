"""Requests of an attacker: bodies that aren't forms, and forms that mix two stores.

Generated from the table of addresses, so that every new address is tested.
"""

import json
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from asgiref.sync import async_to_sync
from django.test import AsyncClient, Client

from tests.ledger import addresses
from tests.ledger.addresses import COMPANY_FORMS, FORMS, PEOPLE_FORMS, Form, sent
from tests.ledger.fingerprint import fingerprint, without_results
from tests.ledger.pages import logged_in
from tests.ledger.planted import Store, two_stores

OWN_FORMS: dict[str, tuple[str, Form]] = {
    "language": ("/language/", {"language": "de", "next": "/"}),
    "login": ("/login/", {"username": "almighty", "password": "x"}),
    "login-code": ("/login/code/", {"code": "1"}),
    "second-factor": ("/account/second-factor/", {"action": "enrol", "code": "1"}),
    "sessions": ("/account/sessions/", {"password": "x", "end": "others"}),
    "tokens": ("/account/tokens/", {"password": "x", "name": "t", "scopes": "stock:read"}),
    "password": ("/account/password/", {"old_password": "x", "new_password1": "y"}),
    "invitation": ("/invitation/x/", {"password": "x", "again": "x"}),
}
URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data; boundary=X"
Body = tuple[bytes, str]


@pytest.fixture(scope="module")
def stores(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    with two_stores(request) as found:
        yield found


def with_all_roles(*, superuser: bool, stores: tuple[str, ...] = ()) -> Client:
    people = import_module("ledger.people")  # here, because it needs Django set up
    model = import_module("django.contrib.auth.models").User
    user, _ = model.objects.get_or_create(username="almighty")
    user.is_superuser = superuser
    user.save()
    user.groups.set(people.create_roles().values())
    people.write_memberships(user, everywhere=not stores, stores=stores)
    return logged_in(user)


def forms(store: Store) -> dict[str, tuple[str, Form]]:
    return {
        **{name: form(store) for name, form in FORMS.items()},
        **COMPANY_FORMS,
        **PEOPLE_FORMS,
        **OWN_FORMS,
    }


def part(name: bytes, value: bytes, more: bytes = b"") -> bytes:
    head = b'--X\r\nContent-Disposition: form-data; name="' + name + b'"' + more
    return head + b"\r\n\r\n" + value + b"\r\n"


def names(fields: Form) -> list[bytes]:
    return [name.encode() for name in (*fields, "command_id")]


def plain(value: bytes) -> Callable[[Form], Body]:
    return lambda fields: (b"&".join(name + b"=" + value for name in names(fields)), URLENCODED)


def parts(value: bytes, more: bytes = b"") -> Callable[[Form], Body]:
    def body(fields: Form) -> Body:
        return b"".join(part(name, value, more) for name in names(fields)) + b"--X--\r\n", MULTIPART

    return body


def good(fields: Form) -> bytes:
    return urlencode(sent(fields)).encode()


BODIES: dict[str, Callable[[Form], Body]] = {
    "JSON": lambda fields: (json.dumps(sent(fields)).encode(), "application/json"),
    "text": lambda fields: (good(fields), "text/plain"),
    "no type": lambda fields: (good(fields), ""),
    "invalid UTF-8": plain(b"%ff%fe%ed%a0%80"),
    "raw bytes": plain(b"\xff\xfe"),
    "UTF-16": lambda fields: (good(fields), f"{URLENCODED}; charset=utf-16"),
    "zero": plain(b"%00"),
    "zero in a name": lambda fields: (good(fields) + b"&a%00b=1", URLENCODED),
    "line break": plain(b"a%0ab"),
    "huge number": plain(b"9" * 400),
    "float": plain(b"1e999"),
    "JSON in fields": plain(b'{"a":"%5cud800","b":[1e999]}'),
    "year one": plain(b"0001-01-01T00:00%2B23:59"),
    "year 9999": plain(b"9999-12-31T23:59-23:59"),
    "parts of bytes": parts(b"\xff\xfe"),
    "parts of zeros": parts(b"\x00"),
    "files": parts(b"x", b'; filename="a\x00.txt"'),
    "no boundary": lambda fields: (good(fields), "multipart/form-data"),
    "cut off": lambda _fields: (b'--X\r\nContent-Disposition: form-data; name="a', MULTIPART),
    "1,500 fields": lambda _fields: (
        b"&".join(b"a%d=1" % number for number in range(1500)),
        URLENCODED,
    ),
    "3 MB": lambda _fields: (b"a=" + b"x" * 3_000_000, URLENCODED),
}
# Bodies that are refused before a form reads a value. All forms share this code, so each of these
# bodies goes to a third of the forms. `make soak` sends all other bodies to every form.
SHAPES = {"JSON", "text", "no type", "UTF-16", "no boundary", "cut off", "1,500 fields", "3 MB"}
# Addresses that contain all values of the request, so their body is not read.
STATED_BY_ADDRESS = {"counts-submit"}


def test_attack_tests_cover_every_url_that_takes_a_form(stores: tuple[Store, Store]) -> None:
    pages = {*addresses.LISTS, *addresses.COMPANY, *addresses.COMPANY_PAGES, *addresses.PAGES}
    pages.add("people")
    rest = {"logout", "livez", "readyz", "live-stream", "password-changed"}
    rest |= {"service-worker", "offline"}
    names = import_module("tests.ledger.routes").url_names()
    # They take JSON: tests/ledger/test_api_schema.py attacks them.
    api = {name for name in names if name.startswith("api-")}

    assert {*forms(stores[0])} | pages | rest | api == names


@pytest.mark.parametrize(
    ("kind", "third"),
    [
        pytest.param(kind, (number + more) % 3, marks=pytest.mark.soak if more else ())
        for number, kind in enumerate(BODIES)
        for more in range(1 if kind in SHAPES else 3)
    ],
)
def test_a_body_that_is_no_form_is_refused_and_changes_nothing(
    stores: tuple[Store, Store], kind: str, third: int
) -> None:
    client = with_all_roles(superuser=True)
    before = fingerprint()
    answers = {}

    for name, (path, fields) in list(forms(stores[0]).items())[third::3]:
        if name not in STATED_BY_ADDRESS:
            body, content_type = BODIES[kind](fields)
            visitor = Client(SERVER_NAME="localhost") if name.startswith("login") else client
            answer = visitor.generic("POST", path, body, content_type=content_type)
            answers[name] = answer.status_code

    # Only the counters of login attempts and the log of wrong codes and passwords may change.
    changed = {table for table, rows in fingerprint().items() if rows != before[table]}
    assert changed <= {"app.login_count", "app.action_log", "app.action_chain"}
    wrong = {name: code for name, code in answers.items() if not (400 <= code < 500)}
    # For an unknown language, the page takes the browser's language instead of refusing.
    assert wrong.keys() <= {"login", "login-code", "second-factor", "language"}, wrong
    assert {*wrong.values()} <= {200, 302}
    client.get("/")  # the session is as it was


def test_a_form_without_a_token_is_refused_everywhere(stores: tuple[Store, Store]) -> None:
    client = with_all_roles(superuser=True)
    forger = Client(SERVER_NAME="localhost", enforce_csrf_checks=True)
    forger.cookies = client.cookies
    before = fingerprint()

    for name, (path, fields) in forms(stores[0]).items():
        assert forger.post(path, sent(fields)).status_code == 403, name

    assert fingerprint() == before


def test_a_get_with_the_fields_of_a_form_changes_nothing(stores: tuple[Store, Store]) -> None:
    client = with_all_roles(superuser=True)
    before = fingerprint()
    # Forms whose page has the same address: a GET shows the form, with the fields filled in.
    shown = {name for name in forms(stores[0]) if re.fullmatch("ledger_.*_(add|change)", name)}
    shown |= {"counts-adjust", "codes-import"}

    for name, (path, fields) in forms(stores[0]).items():
        if name not in OWN_FORMS:
            answer: Any = client.get(
                f"{path}{'&' if '?' in path else '?'}{urlencode(sent(fields))}"
            )
            assert answer.status_code == (200 if name in shown else 405), name

    assert fingerprint() == before


def test_request_with_charset_base64_is_refused(stores: tuple[Store, Store]) -> None:
    browser = AsyncClient(headers={"Host": "localhost"})

    async def answer(content_type: str) -> int:
        body, _ = parts(b"x")({})
        return (
            await browser.generic("POST", "/login/", body, content_type=content_type)
        ).status_code

    # Use the asynchronous client, because Django's other test client raises on such a request.
    assert async_to_sync(answer)(f"{MULTIPART}; charset=base64") == 400
    assert async_to_sync(answer)(f"{URLENCODED}; charset=base64") == 400


def mixed(own: tuple[str, Form], other: tuple[str, Form]) -> Iterator[tuple[str, Form]]:
    """Yield (path, form) for each mix: one store's path with the other's form, or a mixed form."""
    (path, fields), (their_path, their_fields) = own, other
    if path != their_path:
        yield their_path, sent(fields)
        yield path, sent(their_fields)
    for name in fields.keys() & their_fields.keys():
        if fields[name] != their_fields[name]:
            yield path, sent(fields) | {name: str(their_fields[name])}
            yield path, sent(their_fields) | {name: str(fields[name])}
            for pair in ([fields[name], their_fields[name]], [their_fields[name], fields[name]]):
                yield path, sent(fields) | {name: [str(each) for each in pair]}
    yield path, sent(fields) | {n: str(v) for n, v in their_fields.items() if n not in fields}


def test_every_page_offers_to_log_out(stores: tuple[Store, Store]) -> None:
    own, _ = stores
    client = with_all_roles(superuser=True)
    pages = {name: page(own) for name, page in addresses.PAGES.items()}
    shown = {**addresses.LISTS, **addresses.COMPANY, **addresses.COMPANY_PAGES, **pages}
    shown["people"] = "/people/"
    own_pages = ("second-factor", "sessions", "password", "password/changed")
    shown |= {name: f"/account/{name}/" for name in own_pages}

    for name, path in shown.items():
        answer: Any = client.get(path)
        # Only the person who counts sees a sheet, and a document for suppliers has no header.
        if name not in {"counts-sheet", "order-document"} and "html" in answer["Content-Type"]:
            assert 'action="/logout/"' in answer.content.decode(), name


# The form of a transfer names another store, so the mixed form is valid.
PARTNER = {"transfers-ask"}


def test_form_that_mixes_two_stores_changes_no_data_of_the_foreign_store(
    stores: tuple[Store, Store],
) -> None:
    own, other = stores
    client = with_all_roles(superuser=False, stores=(own.location, own.partner))
    before = without_results(other.tag)
    tried = 0

    for name, form in FORMS.items():
        if name in PARTNER:
            continue
        for path, fields in mixed(form(own), form(other)):
            answer: Any = client.post(path, fields | {"command_id": str(uuid4())})
            tried += 1
            assert answer.status_code < 500, (name, fields)
            text = answer.content.decode()
            assert not [mark for mark in other.marks if mark in text], (name, fields)
            after = without_results(other.tag)
            assert after == before, (name, path, fields, answer.status_code)

    assert tried > 60
