"""Access to the API: token, scope, right and store, for every operation and every role."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

from tests.ledger.addresses import (
    API_CALLS,
    API_CATALOGUE,
    API_COMPANY_CALLS,
    API_LISTS,
    API_OWN_CALLS,
    Call,
)
from tests.ledger.fingerprint import without_results
from tests.ledger.pages import logged_in
from tests.ledger.planted import PERSON, Store, two_stores
from tests.ledger.programs import Program, account, problem, program_of
from tests.ledger.routes import rules_of
from tests.ledger.test_access_matrix import REFUSED, ROLES, assert_holds_nothing_of


@pytest.fixture(scope="module")
def stores(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Store]]:
    """The owner's store and another one. Requests of this file change no other store."""
    with two_stores(request) as found:
        yield found


@pytest.fixture
def visitor(stores: tuple[Store, Store]) -> Iterator[Any]:
    """Return a program of a role in some stores. Its tokens end with the test."""
    tokens = import_module("webui.accounts.api_tokens")
    users: list[Any] = []

    def visit(role: str, *named: str, scopes: tuple[str, ...] = ()) -> Program:
        user = account(role, PERSON, stores=named)
        users.append(user)
        return program_of(user, *scopes)

    yield visit
    for user in users:
        tokens.end_tokens(user.pk, "test")


def _list_call(name: str) -> Call:
    return Call(name, "GET", lambda _: API_LISTS[name])


def may(role: str, call: Call) -> bool:
    rule = rules_of(call.name)[call.method]
    groups = import_module("webui.accounts.roles").GROUPS_OF[rule.ability]
    return not groups or role in groups


def sent(program: Program, call: Call, store: Store) -> Any:
    if call.body is None:
        return program.get(call.path(store))
    return program.post(call.path(store), call.body(store))


@pytest.mark.parametrize("role", ROLES)
def test_api_lists_have_rows_of_the_owners_stores_only(
    stores: tuple[Store, Store], visitor: Any, role: str
) -> None:
    own, other = stores
    visiting = visitor(role, own.location)

    for name, path in API_LISTS.items():
        allowed = may(role, _list_call(name))
        answer = visiting.get(path)
        assert answer.status_code == (200 if allowed else 403), (name, answer.content)
        assert_holds_nothing_of(other, answer.content.decode(), named=False, address=name)
        names_own = allowed and name not in API_CATALOGUE
        assert (own.location in answer.content.decode()) is names_own, name
        foreign = visiting.get(path, location=other.location)
        assert problem(foreign)["status"] == 403, name
        assert_holds_nothing_of(other, foreign.content.decode(), named=True, address=name)


@pytest.mark.parametrize("role", ROLES)
def test_a_call_needs_the_right_of_the_owner_and_changes_no_other_store(
    stores: tuple[Store, Store], visitor: Any, role: str
) -> None:
    own, other = stores
    visiting = visitor(role, own.location)
    before = without_results(other.location)

    for call in API_CALLS:
        answer = sent(visiting, call, other)
        if call.name == "api-listNeeds" and may(role, call):  # its status is 200
            [result] = answer.json()["results"]
            assert result["outcome"] == "not_ordered"
            continue
        assert answer.status_code in REFUSED, (call.name, answer.content)
        assert_holds_nothing_of(other, answer.content.decode(), named=True, address=call.name)
    assert without_results(other.location) == before

    for call in API_CALLS:
        answer = sent(visiting, call, own)
        is_refused = answer.status_code == 403
        assert is_refused is not may(role, call), (call.name, call.method, answer.content)
        assert_holds_nothing_of(other, answer.content.decode(), named=False, address=call.name)


@pytest.mark.parametrize("role", ROLES)
def test_calls_about_the_account_and_the_company_need_the_right_of_the_owner(
    stores: tuple[Store, Store], visitor: Any, role: str
) -> None:
    own, other = stores

    for call in API_OWN_CALLS:
        answer = sent(visitor(role, own.location), call, own)
        assert (answer.status_code == 403) is not may(role, call), (call.name, answer.content)
        assert_holds_nothing_of(other, answer.content.decode(), named=True, address=call.name)
    for call in API_COMPANY_CALLS:
        assert sent(visitor(role, own.location), call, own).status_code == 403, call.name
        answer = sent(visitor(role), call, own)
        assert answer.status_code == (200 if may(role, call) else 403), answer.content


def test_a_row_of_another_store_is_refused_like_one_that_does_not_exist(
    stores: tuple[Store, Store], visitor: Any
) -> None:
    own, other = stores
    visiting = visitor("lead", own.location)
    reject = {"action": "reject", "revision": 1, "reason": "no"}
    ship = {"action": "ship", "units": 1}
    calls = (
        (f"/api/v1/needs/{quote(other.reorder_id)}", "/api/v1/needs/R:none", reject),
        (f"/api/v1/order-lines/{other.order_id}", "/api/v1/order-lines/999999999", ship),
    )

    for foreign, unknown, body in calls:
        refused = visiting.post(foreign, body)
        assert problem(refused)["status"] == 404, foreign
        assert refused.json() == visiting.post(unknown, body).json()
    staff = visitor("manager", own.location)
    cancel: dict[str, object] = {"action": "cancel"}
    refuse: dict[str, object] = {"action": "refuse", "reason": "no"}
    of_staff = (
        (f"/api/v1/transfers/{other.transfer_id}", "/api/v1/transfers/999999999", cancel),
        (f"/api/v1/counts/{other.draft_id}", "/api/v1/counts/999999999", refuse),
    )
    for foreign, unknown, body in of_staff:
        refused = staff.post(foreign, body)
        assert problem(refused)["status"] == 404, foreign
        assert refused.json()["type"] == staff.post(unknown, body).json()["type"]


def test_each_operation_needs_its_scope(stores: tuple[Store, Store], visitor: Any) -> None:
    own, _ = stores
    tokens = import_module("webui.accounts.api_tokens")
    lists = [_list_call(name) for name in API_LISTS]
    programs = {
        scope: visitor("lead", scopes=tuple(s for s in tokens.SCOPES if s != scope))
        for scope in tokens.SCOPES
    }

    for call in (*API_CALLS, *API_OWN_CALLS, *API_COMPANY_CALLS, *lists):
        scope = rules_of(call.name)[call.method].scope
        refusal = problem(sent(programs[scope], call, own))
        assert (refusal["status"], refusal["scope"]) == (403, scope), call.name


def test_requests_without_a_valid_token_get_status_401(
    ledger: psycopg.Connection, database: str
) -> None:
    tokens = import_module("webui.accounts.api_tokens")
    people = import_module("webui.accounts.people")
    user = account("buyer", "robot")
    ended, expired, disabled = program_of(user), program_of(user), program_of(user)
    number = tokens.tokens_of(user.pk)[-1].id
    assert ended.get("/api/v1/needs").status_code == 200
    assert tokens.end_token(person=user, number=number, actor="robot")
    ledger.execute(
        "UPDATE app.api_token SET created_at = created_at - interval '2 days',"
        " expires_at = clock_timestamp() WHERE id = %s",
        (number + 1,),
    )
    assert disabled.get("/api/v1/needs").status_code == 200
    people.disable_person(name="robot", actor="test")
    people.enable_person(name="robot", actor="test")
    wrong = [Program(""), Program("inv_x"), Program("other"), Program("inv_" + "é" * 20)]
    ledger.execute("DELETE FROM app.refusal")

    for visiting in (ended, expired, disabled, *wrong):
        answer = visiting.get("/api/v1/needs")
        assert problem(answer)["status"] == 401
        assert answer["WWW-Authenticate"] == "Bearer"

    found = ledger.execute("SELECT DISTINCT kind, account, address FROM app.refusal").fetchall()
    assert found == [("token", "not logged in", "GET /api/v1/needs")]


def test_a_browser_session_does_not_authenticate_api_requests(ledger: psycopg.Connection) -> None:
    browser = logged_in(account("lead"))

    for method in (browser.get, browser.post):
        answer = method("/api/v1/needs")
        assert problem(answer)["status"] == 401
        assert not answer.cookies


def test_each_api_error_is_a_problem_document_with_a_next_step(ledger: psycopg.Connection) -> None:
    buyer = program_of(account("buyer"))

    assert problem(buyer.get("/api/v1/nothing"))["status"] == 404
    not_allowed = buyer.client.delete("/api/v1/needs", headers=buyer.head)
    assert problem(not_allowed)["status"] == 405
    assert set(not_allowed["Allow"].split(", ")) == {"GET", "POST"}
    assert problem(buyer.get("/api/v1/stock/L/S%00"))["status"] == 400
    assert problem(buyer.get("/api/v1/stock?q=%00"))["status"] == 400
    body = buyer.client.post("/api/v1/needs", "{", "application/json", headers=buyer.head)
    assert problem(body)["status"] == 400


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("stock?locaton=L", "locaton"),
        ("stock?location=L&location=M", "location"),
        ("stock/L/S?limit=1", "limit"),
        ("webhooks?limit=1", "limit"),
    ],
)
def test_a_query_parameter_that_is_unknown_or_repeated_is_refused(
    ledger: psycopg.Connection, path: str, field: str
) -> None:
    buyer = program_of(account("buyer"))

    found = problem(buyer.get(f"/api/v1/{path}"))

    assert (found["status"], found["field"]) == (400, field), found
    posted = problem(buyer.post("/api/v1/needs?confirmed=true", {"approvals": []}))
    assert (posted["status"], posted["field"]) == (400, "confirmed")


def test_a_large_body_and_one_that_is_not_json_are_refused(ledger: psycopg.Connection) -> None:
    buyer = program_of(account("buyer"))
    large = buyer.post("/api/v1/needs", {"approvals": "x" * 300_000})
    form = buyer.client.post("/api/v1/needs", {"approvals": "1"}, headers=buyer.head)

    assert problem(large)["status"] == 413
    assert problem(form)["status"] == 415


def test_a_token_sent_over_plain_http_is_refused_if_tls_is_required(
    ledger: psycopg.Connection, settings_of_tls: None
) -> None:
    buyer = program_of(account("buyer"))

    assert problem(buyer.get("/api/v1/needs"))["type"].endswith(":no-tls")
    assert buyer.client.get("/api/v1/needs", headers=buyer.head, secure=True).status_code == 200


@pytest.fixture
def settings_of_tls() -> Iterator[None]:
    from django.test import override_settings  # noqa: PLC0415 -- needs Django set up

    with override_settings(SECURE_SSL_REDIRECT=True):
        yield


def test_requests_above_the_rate_limit_get_status_429(
    ledger: psycopg.Connection,
) -> None:
    buyer = program_of(account("buyer"))
    ledger.execute("DELETE FROM app.refusal")
    assert buyer.get("/api/v1/needs").status_code == 200
    # Use up the limit of this minute. If the next minute begins first, use up its limit below.
    ledger.execute(
        "UPDATE app.api_token SET requests = 600,"
        " minute = date_trunc('minute', clock_timestamp(), 'UTC')"
    )

    answer = buyer.get("/api/v1/needs")

    if answer.status_code == 200:  # a new minute has begun in between
        ledger.execute("UPDATE app.api_token SET requests = 600")
        answer = buyer.get("/api/v1/needs")
    assert problem(answer)["status"] == 429
    found = ledger.execute("SELECT account FROM app.refusal WHERE address = 'GET /api/v1/needs'")
    assert ("buyer",) in found.fetchall()
    assert 1 <= int(answer["Retry-After"]) <= 60


def test_the_retry_after_wait_reaches_the_next_minute(ledger: psycopg.Connection) -> None:
    tokens = import_module("webui.accounts.api_tokens")
    token = program_of(account("buyer")).token
    # Begin after half a second: a wait rounded to the nearest second would be too short.
    ledger.execute("SELECT pg_sleep(1.6 - extract(second FROM clock_timestamp())::numeric % 1)")

    used = tokens.use_token(token)

    reached = ledger.execute(
        "SELECT date_trunc('minute', t.used_at) + interval '1 minute'"
        " <= t.used_at + make_interval(secs => %s) FROM app.api_token t WHERE t.id = %s",
        (used.wait_s, used.id),
    )
    assert reached.fetchone() == (True,)
