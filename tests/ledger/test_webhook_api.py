"""Webhooks through the API and on the page of operators."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from tests.ledger.hooked import loopback_allowed, make_due, turn
from tests.ledger.pages import logged_in
from tests.ledger.programs import Program, account, problem, program, program_of
from tests.ledger.receiver import Receiver, running_receiver
from tests.ledger.rows import reorder_proposal, write

PATH = "/api/v1/webhooks"
PAGE = "/system/webhooks/"


@pytest.fixture
def receiver(ledger: psycopg.Connection) -> Iterator[Receiver]:
    with loopback_allowed(), running_receiver() as running:
        yield running


def operator() -> Any:
    return logged_in(account("operator", "olga"))


def acted(client: Any, hook: int, action: str, **further: object) -> Any:
    form = {"webhook": hook, "action": action, "command_id": str(uuid4()), **further}
    return client.post(f"{PAGE}act", form)


def test_a_webhook_secret_is_shown_once_and_signs_messages(
    receiver: Receiver, sinks: psycopg.Connection
) -> None:
    buyer = program("buyer")
    key = uuid4()
    first = buyer.post(PATH, {"url": receiver.url}, key=key).json()
    again = buyer.post(PATH, {"url": receiver.url}, key=key).json()
    reorder_proposal(sinks)
    turn()

    assert again == {"id": first["id"], "secret": None}
    assert receiver.requests[0].is_signed_with(first["secret"])
    [listed] = buyer.get(PATH).json()["items"]
    assert (listed["kinds"], listed["waiting"], listed["problem"]) == (
        *(["need", "price", "order"], 0),
        "",
    )
    assert listed["delivered_at"]
    one = buyer.get(f"{PATH}/{first['id']}")
    page = operator().get(PAGE)
    for shown in (one, page):
        assert first["secret"] not in shown.content.decode()
    assert receiver.url.replace("&", "&amp;") in page.content.decode()


def test_the_api_rotates_stops_resumes_tests_replays_and_deletes_a_webhook(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    buyer = program("buyer")
    write(ledger, "item_location")
    made = buyer.post(PATH, {"url": receiver.url, "kinds": ["need"], "location": "L"}).json()
    path = f"{PATH}/{made['id']}"
    rotated = buyer.post(path, {"action": "rotate"}).json()
    buyer.post(path, {"action": "test"})
    turn()
    assert receiver.requests[0].is_signed_with(rotated["secret"])
    assert receiver.requests[0].is_signed_with(made["secret"])
    assert buyer.get(path).json()["item"]["former_until"]

    assert buyer.post(path, {"action": "stop"}).status_code == 200
    assert problem(buyer.post(path, {"action": "test"}))["status"] == 409
    assert buyer.get(path).json()["item"]["stop_reason"] == "stopped by buyer"
    assert buyer.post(path, {"action": "resume"}).status_code == 200

    statuses = iter([500])
    receiver.answer = lambda _: next(statuses, 204)
    reorder_proposal(sinks)
    import_module("ledger.webhooks.queue").queue_all()
    ledger.execute("UPDATE app.webhook_message SET attempts = 19")
    turn()
    [dead] = buyer.get(path).json()["dead"]
    assert (dead["type"], dead["problem"]) == ("need.opened", "status 500")
    replay = {"action": "replay", "message_id": dead["message_id"]}
    assert buyer.post(path, replay).status_code == 200
    assert problem(buyer.post(path, {"action": "replay", "message_id": "x"}))["status"] == 422
    turn()
    assert buyer.get(path).json()["dead"] == []
    assert buyer.post(path, {"action": "delete"}).status_code == 200
    assert problem(buyer.get(path))["status"] == 404
    assert buyer.get(PATH).json()["items"] == []


def test_a_webhook_of_another_account_is_reported_as_not_found(receiver: Receiver) -> None:
    made = program("buyer").post(PATH, {"url": receiver.url}).json()
    lead = program("lead")

    for number in (made["id"], 999_999_999):
        assert problem(lead.get(f"{PATH}/{number}"))["status"] == 404
        assert problem(lead.post(f"{PATH}/{number}", {"action": "stop"}))["status"] == 404
    assert lead.get(PATH).json()["items"] == []


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        ({"url": "ftp://example.com/"}, 422, "url"),
        ({"url": "http://127.0.0.1:1/"}, 422, "url"),
        ({"url": "https://user:pass@example.com/"}, 422, "url"),
        ({"url": "https://example.com/", "kinds": []}, 400, "kinds"),
        ({"url": "https://example.com/", "kinds": ["stock"]}, 400, "kinds.0"),
        ({"url": "https://example.com/", "location": "NOWHERE"}, 422, "location"),
        ({}, 400, "url"),
    ],
)
def test_an_invalid_webhook_registration_is_refused_with_its_field(
    ledger: psycopg.Connection, body: dict[str, object], status: int, field: str
) -> None:
    found = problem(program("buyer").post(PATH, body))

    assert (found["status"], found["field"]) == (status, field), found


def test_a_location_of_another_store_is_refused(
    receiver: Receiver, ledger: psycopg.Connection
) -> None:
    write(ledger, "item_location")
    local = program("buyer", stores=("L",))

    assert problem(local.post(PATH, {"url": receiver.url, "location": "M"}))["status"] == 403
    assert local.post(PATH, {"url": receiver.url, "location": "L"}).status_code == 200


def test_a_webhook_stops_when_a_person_ends_its_token(
    receiver: Receiver, sinks: psycopg.Connection
) -> None:
    tokens = import_module("webui.accounts.api_tokens")
    user = account("buyer", "robot")
    first = program_of(user)
    hook = first.post(PATH, {"url": receiver.url}).json()["id"]
    tokens.end_tokens(user.pk, "olga")
    second: Program = program_of(user)
    reorder_proposal(sinks)
    assert turn() == 0
    assert second.get(f"{PATH}/{hook}").json()["item"]["stop_reason"] == "its token was ended"

    second.post(f"{PATH}/{hook}", {"action": "resume"})
    assert turn() == 1


def test_a_token_that_resumes_an_active_webhook_replaces_its_token(
    receiver: Receiver, sinks: psycopg.Connection
) -> None:
    tokens = import_module("webui.accounts.api_tokens")
    user = account("buyer", "robot")
    hook = program_of(user).post(PATH, {"url": receiver.url}).json()["id"]
    [former] = tokens.tokens_of(user.pk)
    program_of(user).post(f"{PATH}/{hook}", {"action": "resume"})
    assert acted(operator(), hook, "resume").status_code == 302

    assert tokens.end_token(person=user, number=former.id, actor="robot")
    reorder_proposal(sinks)
    assert turn() == 1

    tokens.end_tokens(user.pk, "robot")
    sinks.execute("UPDATE app.reorder_proposal SET revision = 2")
    assert turn() == 0


def test_an_operator_sees_deliveries_and_errors_and_acts_on_every_webhook(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    client = operator()
    assert "No webhook yet" in client.get(PAGE).content.decode()
    hook = program("buyer").post(PATH, {"url": receiver.url}).json()["id"]
    statuses = iter([500, 503])
    receiver.answer = lambda _: next(statuses, 204)
    reorder_proposal(sinks)
    turn()
    ledger.execute("UPDATE app.webhook_message SET attempts = 19")
    make_due(ledger)
    turn()

    shown = client.get(PAGE).content.decode()
    for text in (f"Webhook {hook} of buyer", "none yet", "status 503", "need.opened", "L|S"):
        assert text in shown, text
    assert "1 webhook message given up" in client.get("/system/").content.decode()
    message = import_module("ledger.webhooks.queries").dead_messages([hook])[0].message_id
    assert acted(client, hook, "replay", message=message).status_code == 302
    assert acted(client, hook, "test").status_code == 302
    turn()
    assert receiver.types == ["need.opened"] * 3 + ["webhook.test"]
    assert acted(client, hook, "stop").status_code == 302
    refused = acted(client, hook, "test")
    assert refused.status_code == 409
    assert "resume it first" in refused.content.decode()
    assert acted(client, hook, "resume").status_code == 302
    assert acted(client, hook, "delete").status_code == 302
    gone = acted(client, hook, "stop")
    assert gone.status_code == 422
    assert "no such webhook" in gone.content.decode()
    entries = ledger.execute(
        "SELECT action FROM app.action_log WHERE actor = 'olga' ORDER BY id"
    ).fetchall()
    assert [action for (action,) in entries] == [
        f"{name}_webhook" for name in ("replay", "test", "stop", "resume", "delete")
    ]
