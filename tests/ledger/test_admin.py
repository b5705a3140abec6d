"""The admin is for operators of every store. It deletes nothing, and loads no script of Django.

test_access_matrix.py also requests each address as each role. Hostile forms are in
test_hostile_requests.py. Forms are in test_admin_forms.py.
"""

import re
from urllib.parse import quote, urlencode
from uuid import uuid4

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from ledger import services
from tests.ledger.addresses import sent
from tests.ledger.administered import ADMIN, FORMS, audit, operator, rows, text
from tests.ledger.fingerprint import fingerprint
from tests.ledger.pages import person, with_static_files
from tests.ledger.routes import patterns

__all__ = ["rows"]
NO_OPERATOR = ("associate", "manager", "buyer", "lead", "pricing", "analyst")


@pytest.mark.parametrize("role", NO_OPERATOR)
def test_a_person_without_the_operator_role_cannot_open_admin_pages(
    rows: psycopg.Connection, role: str
) -> None:
    client = person(role)
    before = fingerprint()

    for name, path in ADMIN.items():
        assert client.get(path).status_code == 403, name
    for name, (path, fields) in FORMS.items():
        assert client.get(path).status_code == 403, name
        assert client.post(path, sent(fields)).status_code == 403, name

    assert fingerprint() == before
    assert "/admin/" not in text(client.get("/"))
    [reason] = rows.execute("SELECT DISTINCT reason FROM app.refusal").fetchall()
    assert reason == (
        "This page or action needs the right to manage reference data. Nothing was changed.",
    )


def test_an_operator_of_only_some_stores_cannot_open_admin_pages(rows: psycopg.Connection) -> None:
    client = person("operator", "otto", stores=("DC-1",))

    for name, path in {**ADMIN, **{name: path for name, (path, _) in FORMS.items()}}.items():
        assert client.get(path).status_code == 403, name
    assert "/admin/" not in text(client.get("/tasks/"))


def test_admin_pages_redirect_to_login_or_second_factor(
    rows: psycopg.Connection,
) -> None:
    visitor, client = Client(SERVER_NAME="localhost"), operator()
    session = client.session
    del session["second_factor_at"]
    session.save()

    for name, path in {**ADMIN, **{name: path for name, (path, _) in FORMS.items()}}.items():
        assert visitor.get(path)["Location"] == f"/login/?next={quote(path)}", name
        assert client.get(path)["Location"] == "/account/second-factor/", name
    for name, (path, fields) in FORMS.items():
        sends = visitor.post(path, sent(fields))
        assert sends["Location"] == f"/login/?next={quote(path)}", name
        assert client.post(path, sent(fields)).status_code == 403, name
    assert audit(rows) == []


def test_an_idle_session_ends_on_admin_pages(rows: psycopg.Connection) -> None:
    client = operator()
    session = client.session
    session["active_at"] -= 31 * 60
    session.save()

    assert client.get("/admin/")["Location"] == "/login/?next=%2Fadmin%2F&ended=idle"


def test_the_admin_has_only_the_listed_addresses_each_with_its_access_rule(
    rows: psycopg.Connection,
) -> None:
    from django.urls import URLResolver, get_resolver  # noqa: PLC0415 -- needs Django set up

    resolvers = [one for one in get_resolver().url_patterns if isinstance(one, URLResolver)]
    inner = [two for one in resolvers for two in one.url_patterns if isinstance(two, URLResolver)]
    [resolver] = [one for one in (*resolvers, *inner) if one.namespace == "admin"]
    found = {pattern.name: vars(pattern.callback)["access_rule"] for pattern in patterns(resolver)}

    assert found.keys() == ADMIN.keys() | FORMS.keys()
    assert {*found.values()} == {("manage_reference_data", True)}
    client = operator()
    for path in ("login/", "logout/", "password_change/", "jsi18n/", "autocomplete/", "r/1/1/"):
        assert client.get(f"/admin/{path}").status_code == 404, path


def test_the_admin_index_links_to_every_table(rows: psycopg.Connection) -> None:
    client = operator()
    page = text(client.get("/admin/"))

    for name, path in ADMIN.items():
        if "history" not in name:
            assert f'href="{path}"' in page, name
            assert client.get(path).status_code == 200, name
    assert '<a href="/admin/" data-go="a">' in text(client.get("/"))
    assert '<a href="/admin/" data-go="a" aria-current="page">' in page
    for path in ("sessions/", "ledger/product/LAMP/change/", "ledger/product/LAMP/history/"):
        assert client.get(f"/admin/{path}").status_code == 404


def test_the_admin_has_no_way_to_delete_rows(rows: psycopg.Connection) -> None:
    client = operator()
    before = fingerprint()
    action = {"action": "delete_selected", "_selected_action": "MUG", "post": "yes"}

    for path in ("/admin/ledger/product/MUG/", "/admin/auth/user/1/"):
        assert client.post(f"{path}delete/", {"post": "yes"}).status_code == 404
        assert client.get(f"{path}delete/").status_code == 404
    for name, path in ADMIN.items():
        assert client.post(path, action | {"command_id": str(uuid4())}).status_code == 405, name
    assert "elete" not in text(client.get("/admin/ledger/product/"))

    assert fingerprint() == before


def test_the_admin_shows_people_and_roles_read_only(
    rows: psycopg.Connection,
) -> None:
    client = operator()
    person("buyer", "bea")

    people = text(client.get("/admin/auth/user/?q=bea"))
    roles = text(client.get("/admin/auth/group/"))

    assert '<th scope="row">bea</th><td class="doc" data-label="Roles"><span>buyer</span>' in people
    assert '<a href="/people/">To the desk “People”</a>' in people
    assert "decide reorders, manage orders" in roles
    assert "Purchasing lead" in roles
    for path in ("user/add/", "user/1/change/", "group/add/", "group/1/change/"):
        assert client.get(f"/admin/auth/{path}").status_code == 404


@pytest.mark.parametrize(
    "query", ["password__startswith=a", "is_superuser=1", "groups__permissions=1", "_to_field=x"]
)
def test_an_admin_list_refuses_filters_on_other_columns(
    rows: psycopg.Connection, query: str
) -> None:
    answer = operator().get(f"/admin/auth/user/?{query}")

    assert answer.status_code == 400
    assert "Nothing was changed" in text(answer)


@pytest.mark.parametrize("comparison", ["regex=(", "startswith=K", "in=Kitchen", "foo=1"])
def test_an_admin_filter_refuses_comparisons_other_than_exact_and_isnull(
    rows: psycopg.Connection, comparison: str
) -> None:
    client, path = operator(), "/admin/ledger/product/"

    assert client.get(f"{path}?department__{comparison}").status_code == 400
    for filtered in ("department=Kitchen", "department__exact=Kitchen", "department__isnull=False"):
        assert "MUG" in text(client.get(f"{path}?{filtered}")), filtered


def test_a_second_search_replaces_the_first_one(rows: psycopg.Connection) -> None:
    services.name_products(names={"LAMP": "Lamp"}, department="Kitchen")
    client, path = operator(), "/admin/ledger/product/"
    first = text(client.get(f"{path}?department=Kitchen&o=1&q=mug"))
    [search] = re.findall(r'<form class="filters".*?</form>', first)
    fields = re.findall(r'<input type="(\w+)" name="(\w+)" value="([^"]*)"', search)

    # As a browser sends it: every input in order, the visible one with the new text.
    typed = [(name, "lamp" if kind == "search" else value) for kind, name, value in fields]
    second = text(client.get(f"{path}?{urlencode(typed)}"))

    assert ("LAMP" in second, "MUG" in second) == (True, False)
    assert typed == [("q", "lamp"), ("department", "Kitchen"), ("o", "1")]


def test_lists_are_searched_filtered_sorted_and_paged(rows: psycopg.Connection) -> None:
    services.name_products(names={f"S{n:03}": f"Item {n}" for n in range(60)}, department="Many")
    client = operator()

    def codes(query: str) -> list[str]:
        page = text(client.get(f"/admin/ledger/product/?{query}"))
        return re.findall(r'<th scope="row"><a href="[^"]*">(\w+)</a>', page)

    assert len(codes("")) == 50
    assert codes("p=2") == [f"S{n:03}" for n in range(49, 60)]
    assert codes("q=item+S007") == ["S007"]
    assert codes("department=Kitchen") == ["MUG"]
    assert codes("o=-0")[0] == "S059"
    assert codes("q=none") == []
    # Filters of the list stay when a person searches.
    assert 'name="department" value="Many"' in text(
        client.get("/admin/ledger/product/?department=Many")
    )
    assert client.get("/admin/ledger/product/?p=99")["Location"] == "/admin/ledger/product/?e=1"
    assert "No such list" in text(client.get("/admin/ledger/product/?p=99&e=1"))


@pytest.mark.parametrize("path", ["ledger/product", "ledger/supplier", "auth/user", "auth/group"])
def test_the_number_of_sql_queries_of_an_admin_list_is_independent_of_its_rows(
    rows: psycopg.Connection, path: str
) -> None:
    client, taken = operator(), []

    for number in (2, 30):
        for n in range(number):
            person("buyer", f"buyer-{n}")
        services.name_products(names={f"S{n}": "x" for n in range(number)}, department=f"D{number}")
        services.name_suppliers(names={f"S{n}": "x" for n in range(number)})
        with CaptureQueriesContext(connection) as asked:
            assert client.get(f"/admin/{path}/").status_code == 200
        taken.append(len(asked))

    assert taken[0] == taken[1] <= 10, taken


def test_admin_pages_have_security_headers_and_only_own_scripts_and_styles(
    rows: psycopg.Connection,
) -> None:
    client = operator()
    paths = [*ADMIN.values(), *(path for path, _ in FORMS.values())]
    paths = [path.replace("MINEPRODUCT", "MUG").replace("MINE-1", "DC-1") for path in paths]

    for path in paths:
        answer = client.get(path)
        assert answer.status_code == 200, path
        policy = answer["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "no-store" in answer["Cache-Control"]
        page = answer.content.decode()
        assert re.findall(r'(?:src|rel="stylesheet" href)="([^"]*)"', page) == [
            "/static/css/app.css",
            "/static/js/app.js",
        ]
        assert not re.search(r"<script(?![^>]*src=)|<style|\sstyle=|\son\w+=", page), path
    with with_static_files():
        client = operator()
        for file in ("js/core.js", "css/base.css", "js/vendor/jquery/jquery.js"):
            assert client.get(f"/static/admin/{file}").status_code == 404
        assert client.get("/static/css/app.css").status_code == 200


def test_the_action_log_of_django_has_no_table(rows: psycopg.Connection) -> None:
    found = rows.execute("SELECT to_regclass('app.django_admin_log')::text").fetchone()

    assert found == (None,)
