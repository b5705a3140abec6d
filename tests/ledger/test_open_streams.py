"""Many open streams need few statements and connections, and end when their right ends."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.contrib.auth import get_user
from django.db import connection
from django.http import HttpRequest
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext

from tests.ledger.live import Stream, open_streams, request_of, until, user_of
from tests.ledger.pages import logged_in, person

OFTEN_S = 0.05
STREAMS = 150


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check open streams every 50 ms. A successful check lets a stream send figures for 0.5 s."""
    monkeypatch.setattr("webui.live.watch.CHECK_EVERY_S", OFTEN_S)
    monkeypatch.setattr("webui.live.watch.RETRY_S", OFTEN_S)
    monkeypatch.setattr("webui.live.watch.CONFIRMED_S", 0.5)
    monkeypatch.setattr("webui.live.stream.AGE_EVERY_S", OFTEN_S)


@contextmanager
def role(ledger: psycopg.Connection, during: str, afterwards: str) -> Iterator[None]:
    """Alter Postgres' role `app_rw`: with `during` before the block, with `afterwards` after it."""
    ledger.execute(f"ALTER ROLE app_rw {during}")
    try:
        yield
    finally:
        ledger.execute(f"ALTER ROLE app_rw {afterwards}")


def test_streams_that_open_at_once_need_few_connections(
    ledger: psycopg.Connection, often: None
) -> None:
    page = request_of(person("associate", "nora", stores=("MINE-1",)))

    async def work() -> list[Stream]:
        async with open_streams(page, STREAMS) as streams:
            # Two events `age` after the first: each stream has been checked and goes on.
            await until(lambda: all(len(each.names) >= 4 or each.is_over for each in streams))
            return streams

    connection.close()
    [(used,)] = ledger.execute(
        "SELECT count(*) FROM pg_stat_activity WHERE usename = 'app_rw'"
    ).fetchall()
    with role(ledger, f"CONNECTION LIMIT {used + 4}", "CONNECTION LIMIT -1"):
        streams = asyncio.run(work())

    assert {each.status for each in streams} == {200}
    assert {tuple(each.names[:3]) for each in streams} == {("resync", "age", "age")}


def log_out(_accounts: Any, nora: Client) -> None:
    nora.post("/logout/")


def move(accounts: Any, _nora: Client) -> None:
    accounts.set_store_access(
        name="nora", places=accounts.StoreAccess(stores=("THEIRS-1",)), actor="test"
    )


def disable(accounts: Any, _nora: Client) -> None:
    accounts.disable_person(name="nora", actor="test")


def change_password(accounts: Any, nora: Client) -> None:
    user = accounts.User.objects.get(pk=user_of(nora))
    user.set_password("another horse battery")
    user.save()


def forget_second_factor(_accounts: Any, nora: Client) -> None:
    session = nora.session
    del session["second_factor_at"]
    session.save()


def in_thread(ends: Callable[[Any, Client], None], accounts: Any, nora: Client) -> None:
    try:
        ends(accounts, nora)
    finally:
        connection.close()


def activate(name: str) -> None:
    """Allow the logins of this person again, for the tests that follow."""
    import_module("ledger.people").User.objects.filter(username=name).update(is_active=True)


@pytest.mark.parametrize(
    "ends",
    [log_out, move, disable, change_password, forget_second_factor],
    ids=lambda f: f.__name__,
)
def test_open_stream_ends_when_the_person_loses_access(
    ledger: psycopg.Connection,
    often: None,
    ends: Callable[[Any, Client], None],
) -> None:
    accounts = import_module("webui.accounts.people")
    ledger.execute("INSERT INTO retail.location (code, name) VALUES ('THEIRS-1', 'Theirs')")
    nora = person("associate", "nora", stores=("MINE-1",))
    pages = request_of(nora), request_of(person("associate", "otto", stores=("MINE-1",)))

    async def work() -> tuple[list[Stream], list[Stream]]:
        async with open_streams(pages[0], 2) as hers, open_streams(pages[1], 1) as others:
            await until(lambda: all(len(each.names) >= 3 for each in (*hers, *others)))
            await asyncio.to_thread(in_thread, ends, accounts, nora)
            await until(lambda: all(each.is_over for each in hers), hers)
            seen = len(others[0].names)
            await until(lambda: len(others[0].names) > seen, others)
            return hers, others

    with override_settings(SECOND_FACTOR_ROLES=["associate"]):
        hers, others = asyncio.run(work())

    activate("nora")
    assert [each.data("bye") for each in hers] == [{"reason": "logged out"}] * 2
    assert "bye" not in others[0].names


def test_open_stream_pauses_without_the_database_and_then_resumes_or_ends(
    ledger: psycopg.Connection, often: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webui.live.stream.PING_EVERY_S", OFTEN_S)
    nora = person("associate", "nora", stores=("MINE-1",))
    otto = person("associate", "otto", stores=("MINE-1",))
    pages, number = (request_of(nora), request_of(otto)), user_of(nora)

    async def work() -> None:
        async with open_streams(pages[0], 1) as hers, open_streams(pages[1], 1) as his:
            both = [*hers, *his]
            await until(lambda: all(len(each.names) >= 3 for each in both), both)
            with role(ledger, "NOLOGIN", "LOGIN"):
                await until(lambda: all(pings_alone(each) >= 5 for each in both), both)
                ledger.execute("DELETE FROM app.django_session WHERE user_id = %s", [number])
                assert not any(each.is_over for each in both)
            await until(lambda: hers[0].is_over and pings_alone(his[0]) <= 1, both)
            # Nothing was sent between the pause and the end.
            assert hers[0].names[-2:] == ["age", "bye"]
            assert pings_alone(hers[0], b"event: bye") >= 5

    asyncio.run(work())


def pings_alone(stream: Stream, end: bytes = b"") -> int:
    """Return the number of pings after the last event `age`, and before `end` if given."""
    after = stream.sent.rpartition(b"event: age")[2]
    return (after.partition(end)[0] if end else after).count(b"still here")


def test_stream_check_runs_three_statements_for_a_thousand_streams(
    ledger: psycopg.Connection,
) -> None:
    access = import_module("webui.live.access")
    nora = person("associate", "nora", stores=("MINE-1",))
    user = import_module("ledger.people").User.objects.get(username="nora")
    keys = [each.session.session_key for each in (nora, logged_in(user), logged_in(user))]
    asked = [
        access.Asked(keys[number % 3], user.pk, frozenset({f"MINE-1|{number}"}))
        for number in range(1_000)
    ]

    with CaptureQueriesContext(connection) as queries:
        allowed = access.refusals(asked)

    assert allowed == [None] * 1_000
    assert len(queries) == 3, queries.captured_queries


def test_more_sessions_than_one_statement_reads_are_read_in_parts(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webui.accounts.signed_in.MOST_SESSIONS", 2)
    signed_in = import_module("webui.accounts.signed_in").signed_in
    clients = [person("associate", name, stores=("MINE-1",)) for name in ("nora", "otto", "olaf")]
    keys = {each.session.session_key: user_of(each) for each in clients}

    with CaptureQueriesContext(connection) as queries:
        found = signed_in([*keys, "a session that never was"], 0.0)

    assert {key: each.person.pk for key, each in found.items()} == keys
    assert len(queries) == 6


def go_on(_nora: Client) -> None:
    """Change nothing."""


def set_hash(nora: Client) -> None:
    session = nora.session
    session["_auth_user_hash"] = "of an earlier password"
    session.save()


def set_backend(nora: Client) -> None:
    session = nora.session
    session["_auth_user_backend"] = "somewhere.else.Backend"
    session.save()


def deactivate(nora: Client) -> None:
    people = import_module("ledger.people")
    people.User.objects.filter(pk=user_of(nora)).update(is_active=False)


def drop_session(nora: Client) -> None:
    nora.session.delete()


@pytest.mark.parametrize(
    "change",
    [go_on, set_hash, set_backend, deactivate, drop_session],
    ids=lambda f: f.__name__,
)
def test_signed_in_returns_the_same_user_as_django_get_user(
    ledger: psycopg.Connection, change: Callable[[Client], None]
) -> None:
    signed_in = import_module("webui.accounts.signed_in").signed_in
    nora = person("associate", "nora", stores=("MINE-1",))
    key = nora.session.session_key
    change(nora)

    found = signed_in([key], 0.0)
    request = HttpRequest()
    request.session = import_module("webui.accounts.session_store").SessionStore(key)
    single = get_user(request)

    activate("nora")
    assert {each.person.pk for each in found.values()} == {single.pk} - {None}
    assert bool(found) == single.is_authenticated == (change is go_on)
