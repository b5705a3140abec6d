"""Accounts, their roles and their stores, by page and by command."""

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client, override_settings
from rich.console import Console
from typer.testing import CliRunner, Result

from deploy import output
from deploy.cli.main import app
from deploy.stack.processes import wait_until
from tests.ledger.fingerprint import fingerprint
from tests.ledger.live import asked_by, refusal_of
from tests.ledger.pages import logged_in, person
from tests.ledger.postgres import Server

PASSWORD = "correct horse battery"  # noqa: S105 -- of this test's people
LINK = re.compile(r"/invitation/[\w-]+/")


@pytest.fixture
def accounts(ledger: psycopg.Connection) -> Iterator[Any]:
    """Return the module under test. Passwords have a fast hash; people of other tests are gone."""
    ledger.execute("DELETE FROM app.login_count; DELETE FROM app.invitation")
    module = import_module("webui.accounts.people")  # here, because it needs Django set up
    # Delete them as the superuser, because the application may not delete accounts.
    earlier = (
        "(SELECT id FROM app.auth_user WHERE username IN"
        " ('nora', 'otto', 'olaf', 'mia', 'nils', 'jörg.o-b_1@x'))"
    )
    ledger.execute(f"DELETE FROM app.auth_user_groups WHERE user_id IN {earlier}")  # noqa: S608 -- a literal
    ledger.execute(f"DELETE FROM app.auth_user WHERE id IN {earlier}")  # noqa: S608 -- a literal
    put_place(ledger, "MINE-1")
    put_place(ledger, "THEIRS-1")
    with override_settings(PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]):
        yield module


def put_place(ledger: psycopg.Connection, code: str) -> None:
    ledger.execute("INSERT INTO retail.location (code, name) VALUES (%s, %s)", (code, code))


def link_in(answer: Any) -> str:
    found = LINK.search(answer.content.decode())
    assert found is not None
    return found[0]


def browser() -> Client:
    return Client(SERVER_NAME="localhost")


def logged(ledger: psycopg.Connection) -> list[str]:
    found = ledger.execute("SELECT action FROM app.action_log ORDER BY id").fetchall()
    return [action for (action,) in found]


def add(client: Client, name: str = "nora", **fields: object) -> Any:
    given = {"person": name, "roles": ["associate"], "stores": ["MINE-1"]}
    return client.post("/people/add", given | fields)


def act(client: Client, accounts: Any, name: str, action: str, **fields: object) -> Any:
    version = accounts.person_named(name).version
    given = {"person": name, "action": action, "shown_version": version}
    return client.post("/people/act", given | fields)


def test_an_invited_person_sets_a_password_once_and_logs_in(
    accounts: Any, ledger: psycopg.Connection
) -> None:
    link = link_in(add(person("operator")))
    guest = browser()

    differs = guest.post(link, {"password": PASSWORD, "again": PASSWORD[::-1]})
    short = guest.post(link, {"password": "short", "again": "short"})
    stored = guest.post(link, {"password": PASSWORD, "again": PASSWORD})
    again = guest.post(link, {"password": PASSWORD, "again": PASSWORD})

    assert [a.status_code for a in (differs, short, stored, again)] == [422, 422, 302, 410]
    assert ".. " not in short.content.decode()
    assert guest.get(link).status_code == 410
    assert guest.post("/login/", {"username": "nora", "password": PASSWORD}).status_code == 302
    assert guest.get("/receiving/?location=MINE-1").status_code == 200
    assert guest.get("/receiving/?location=THEIRS-1").status_code == 403
    assert logged(ledger)[:3] == ["add_person", "invite_person", "accept_invitation"]
    [[entries]] = ledger.execute("SELECT string_agg(t::text, '') FROM app.action_log t").fetchall()
    assert PASSWORD not in entries
    assert link.split("/")[2] not in entries


def test_invitation_link_ends_at_expiry_with_a_newer_link_or_a_disabled_account(
    accounts: Any, ledger: psycopg.Connection
) -> None:
    operator = person("operator")
    first = link_in(add(operator))
    second = link_in(act(operator, accounts, "nora", "invite"))
    assert [browser().get(link).status_code for link in (first, second)] == [410, 200]

    ledger.execute("UPDATE app.invitation SET expires_at = clock_timestamp() WHERE used_at IS NULL")
    assert browser().get(second).status_code == 410

    third = link_in(act(operator, accounts, "nora", "invite"))
    act(operator, accounts, "nora", "disable")
    assert browser().get(third).status_code == 410
    assert act(operator, accounts, "nora", "invite").status_code == 409


def test_the_sessions_of_a_disabled_person_end_at_once_and_stay_ended(accounts: Any) -> None:
    operator, visitor = person("operator"), person("associate", "nora", stores=("MINE-1",))
    assert visitor.get("/").status_code == 200

    assert act(operator, accounts, "nora", "disable").status_code == 302

    assert visitor.get("/")["Location"].startswith("/login/")
    assert act(operator, accounts, "nora", "enable").status_code == 302
    assert visitor.get("/")["Location"].startswith("/login/")


def test_live_stream_is_refused_after_loss_of_the_store_or_the_account(accounts: Any) -> None:
    visitor = person("associate", "nora", stores=("MINE-1",))
    page = asked_by(visitor, ["MINE-1|S"])
    assert refusal_of(page) == ""

    accounts.set_store_access(
        name="nora", places=accounts.StoreAccess(stores=("THEIRS-1",)), actor="test"
    )
    assert "not yours" in refusal_of(page)

    accounts.set_store_access(
        name="nora", places=accounts.StoreAccess(stores=("MINE-1",)), actor="test"
    )
    assert refusal_of(page) == ""
    accounts.disable_person(name="nora", actor="test")
    assert refusal_of(page) == "log in first"


def test_a_stream_of_another_store_is_refused(accounts: Any) -> None:
    access = import_module("webui.live.access")
    visitor = person("associate", "nora", stores=("MINE-1",))
    user_id = accounts.User.objects.get(username="nora").pk

    refused = visitor.get(f"/live/stream?keys={access.sign_keys(user_id, ['THEIRS-1|S'])}")
    opened = visitor.get(f"/live/stream?keys={access.sign_keys(user_id, ['MINE-1|S'])}")

    assert (refused.status_code, refused.content) == (
        403,
        b"this page shows a store that is not yours: reload it",
    )
    assert opened.status_code == 200
    opened.close()


def test_changes_of_roles_and_stores_hold_from_the_next_request_on(accounts: Any) -> None:
    operator, visitor = person("operator"), person("associate", "nora", stores=("MINE-1",))
    assert visitor.get("/orders/").status_code == 200

    act(operator, accounts, "nora", "roles", roles=["analyst"])
    act(operator, accounts, "nora", "stores", stores=["THEIRS-1"])

    assert visitor.get("/orders/").status_code == 403
    assert visitor.get("/?location=MINE-1").status_code == 403
    assert visitor.get("/?location=THEIRS-1").status_code == 200


def test_outdated_people_form_gets_a_conflict_and_changes_nothing(accounts: Any) -> None:
    operator = person("operator")
    add(operator)
    form = {"person": "nora", "action": "roles", "roles": ["buyer"], "shown_version": "active; ; "}

    answer = operator.post("/people/act", form)

    assert answer.status_code == 409
    assert accounts.person_named("nora").roles == ("associate",)


@pytest.mark.parametrize(
    "fields",
    [
        {"stores": ["THEIRS-1"]},
        {"stores": ["MINE-1", "THEIRS-1"]},
        {"roles": ["manager"]},
        {"roles": ["associate", "operator"]},
        {"everywhere": "1"},
        {"regions": ["NORTH"]},
    ],
)
def test_a_manager_adds_associates_of_their_own_stores_only(
    accounts: Any, fields: dict[str, Any]
) -> None:
    manager = person("manager", "mia", stores=("MINE-1",))
    before = fingerprint()

    assert add(manager, **fields).status_code == 403

    assert fingerprint() == before
    assert add(manager).status_code == 200
    shown = manager.get("/people/").content.decode()
    assert "nora" in shown
    assert "THEIRS-1" not in shown


def test_manager_cannot_change_other_accounts(accounts: Any) -> None:
    manager = person("manager", "mia", stores=("MINE-1",))
    person("associate", "nora", stores=("THEIRS-1",))
    person("operator", "otto")
    before = fingerprint()

    for name in ("nora", "otto", "mia"):
        for action in ("invite", "disable", "stores", "roles"):
            answer = act(manager, accounts, name, action, stores=["MINE-1"], roles=["associate"])
            assert answer.status_code == 403, (name, action)

    assert fingerprint() == before
    assert "nora" not in manager.get("/people/").content.decode()


def test_rights_over_an_account_are_checked_after_its_row_is_locked(
    accounts: Any, ledger: psycopg.Connection
) -> None:
    manager = person("manager", "mia", stores=("MINE-1",))
    person("associate", "nora", stores=("MINE-1",))
    version = accounts.person_named("nora").version

    def disable() -> Any:
        try:
            form = {"person": "nora", "action": "disable", "shown_version": version}
            return manager.post("/people/act", form)
        finally:
            connection.close()

    def is_waiting() -> bool:
        found = ledger.execute("SELECT count(*) FROM pg_locks WHERE NOT granted").fetchone()
        return found is not None and found[0] > 0

    with ThreadPoolExecutor(1) as pool:
        with ledger.transaction():
            ledger.execute("SELECT FROM app.auth_user WHERE username = 'nora' FOR UPDATE")
            ledger.execute(
                "INSERT INTO app.auth_user_groups (user_id, group_id) SELECT u.id, g.id"
                " FROM app.auth_user u, app.auth_group g"
                " WHERE u.username = 'nora' AND g.name = 'operator'"
            )
            answer = pool.submit(disable)
            assert wait_until(is_waiting, timeout_s=60)
        assert answer.result(timeout=60).status_code == 403

    assert accounts.User.objects.get(username="nora").is_active


def test_people_form_ignores_unknown_fields(accounts: Any) -> None:
    more = {"is_superuser": "1", "is_staff": "1", "password": PASSWORD, "id": "1", "groups": "7"}

    assert add(person("operator"), **more).status_code == 200
    act(person("operator"), accounts, "nora", "enable", **more)

    nora = accounts.User.objects.get(username="nora")
    assert (nora.is_superuser, nora.is_staff, nora.has_usable_password()) == (False,) * 3
    assert nora.pk != 1
    assert accounts.person_named("nora").roles == ("associate",)


@pytest.mark.parametrize("role", ["associate", "buyer", "lead", "pricing", "analyst"])
def test_other_roles_have_no_page_of_people(accounts: Any, role: str) -> None:
    client = person(role, "olaf")

    assert client.get("/people/").status_code == 403
    assert add(client).status_code == 403


def test_last_active_operator_cannot_be_disabled_or_lose_the_role(
    accounts: Any, ledger: psycopg.Connection
) -> None:
    others = accounts.User.objects.filter(groups__name="operator", is_active=True)
    kept = list(others.values_list("pk", flat=True))
    others.update(is_active=False)
    try:
        person("operator", "otto")
        for change in (
            lambda: accounts.disable_person(name="otto", actor="test"),
            lambda: accounts.set_roles(name="otto", roles=["buyer"], actor="test"),
        ):
            with pytest.raises(accounts.Conflict, match="last active operator"):
                change()
        assert accounts.person_named("otto").roles == ("operator",)
        assert accounts.person_named("otto").is_active
    finally:
        accounts.User.objects.filter(pk__in=kept).update(is_active=True)


@pytest.fixture
def command(
    server: Server,
    database: str,
    accounts: Any,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """Run `inventory people …` with a database and without a supervisor, as in a container."""
    variables = server.environment(database) | {"INVENTORY_HOME": str(tmp_path)}
    variables["INVENTORY_KAFKA_BOOTSTRAP"] = "127.0.0.1:9"  # required, but not used
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(output, "console", Console(width=200))

    def run(*arguments: str, group: str = "people", **options: Any) -> Result:
        return CliRunner().invoke(app, [group, *arguments], **options)

    return run


def test_people_add_command_prints_an_invitation_for_the_first_operator(
    command: Any, accounts: Any
) -> None:
    added = command("add", "olaf", "--role", "operator", "--url", "https://stock.example")

    assert added.exit_code == 0, added.stderr
    [line] = added.stdout.splitlines()
    assert line.startswith("https://stock.example/invitation/")
    assert "once" in added.stderr
    guest = browser()
    path = line.removeprefix("https://stock.example")
    assert guest.post(path, {"password": PASSWORD, "again": PASSWORD}).status_code == 302
    assert guest.post("/login/", {"username": "olaf", "password": PASSWORD}).status_code == 302
    assert accounts.person_named("olaf").places.text == "everywhere"


def test_a_command_lists_and_changes_accounts(command: Any, accounts: Any) -> None:
    assert command("add", "nora", "--role", "associate", "--store", "MINE-1").exit_code == 0
    assert command("region", "THEIRS-1", "SOUTH").exit_code == 0
    assert command("stores", "nora", "--region", "SOUTH").exit_code == 0
    assert command("roles", "nora", "--role", "manager").exit_code == 0
    set_now = command("password", "nora", input=f"{PASSWORD}\n")

    listed = command("list").stdout
    assert "nora" in listed
    assert "region SOUTH" in listed
    assert (set_now.exit_code, set_now.stdout) == (0, "")
    assert accounts.User.objects.get(username="nora").check_password(PASSWORD)
    generated = command("password", "nora", "--generate").stdout.strip()
    assert accounts.User.objects.get(username="nora").check_password(generated)
    client = logged_in(accounts.User.objects.get(username="nora"))
    assert client.get("/?location=THEIRS-1").status_code == 200
    assert command("disable", "nora").exit_code == 0
    assert client.get("/").status_code == 302
    assert command("enable", "nora").exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("add", "nora", "--role", "chief"), "one of analyst, associate"),
        (("add", "nora"), "at least one of associate"),
        (("add", "nora", "--role", "buyer", "--store", "berlin"), "codes of 1 to 24"),
        (("invite", "nobody"), "the name of an account"),
        (("disable", "nobody"), "the name of an account"),
        (("stores", "nora"), "or --none alone"),
        (("password", "nora"), "the name of an account"),
    ],
)
def test_refused_people_command_names_the_rule_and_changes_nothing(
    command: Any, arguments: tuple[str, ...], said: str
) -> None:
    before = fingerprint()

    refused = command(*arguments, input="short\n")

    assert refused.exit_code == 1
    assert said in str(refused.exception)
    assert fingerprint() == before
