"""Webhooks: signed requests with the events of decisions, in order, at least once."""

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import psycopg
import pytest

from tests.ledger.hooked import loopback_allowed, make_due, register, turn
from tests.ledger.programs import account, program_of
from tests.ledger.receiver import Receiver, running_receiver
from tests.ledger.rows import price_proposal, reorder_proposal, write

NEED_S = {"reorder_id": "R:L|S:1-2"}
NEED_T = {"reorder_id": "R:L|T:1-2", "inv_key": "L|T", "sku": "T"}


@pytest.fixture
def receiver(ledger: psycopg.Connection) -> Iterator[Receiver]:
    with loopback_allowed(), running_receiver() as running:
        yield running


def revise(sinks: psycopg.Connection, inv_key: str, revision: int) -> None:
    sinks.execute(
        "UPDATE app.reorder_proposal SET revision = %s WHERE inv_key = %s", (revision, inv_key)
    )


def test_a_decision_arrives_signed_with_the_event_of_the_api(
    receiver: Receiver, sinks: psycopg.Connection
) -> None:
    hook = register(receiver.url)
    reorder_proposal(sinks)
    turn()

    [request] = receiver.requests
    document = request.document
    [event] = program_of(account("buyer")).get("/api/v1/decisions").json()["items"]
    assert hook.secret is not None
    assert request.is_signed_with(hook.secret)
    assert not request.is_signed_with("whsec_" + "A" * 44)
    assert request.path == "/hooks?from=ledger"
    assert request.headers["content-type"] == "application/json"
    assert (document["id"], document["type"]) == (request.headers["webhook-id"], "need.opened")
    assert document["data"].keys() == event.keys()
    for name in ("cursor", "kind", "change", "id", "location", "sku", "order"):
        assert document["data"][name] == event[name], name
    assert document["data"]["proposal"]["quantity_units"] == 42
    assert document["timestamp"] == document["data"]["at"]


def test_events_before_the_registration_and_of_other_kinds_are_not_sent(
    receiver: Receiver, sinks: psycopg.Connection
) -> None:
    reorder_proposal(sinks)
    register(receiver.url, kinds=("price",))
    revise(sinks, "L|S", 2)
    price_proposal(sinks)
    turn()

    assert receiver.types == ["price.opened"]


def test_a_sent_order_is_an_event_with_its_lines_and_value(
    receiver: Receiver, ledger: psycopg.Connection
) -> None:
    ledger.execute("INSERT INTO retail.supplier (code, name) VALUES ('ACME', 'Acme')")
    register(receiver.url, kinds=("order",))
    orders = import_module("ledger.ordering.orders")
    transactions = import_module("ledger.kernel.transactions")
    write(ledger, "item_location", supplier="ACME", pack_units=6)
    with transactions.ledger_transaction():
        ref = orders.draft_order(supplier="ACME", location="L", actor="ann")
    line: dict[str, Any] = {"order_ref": ref, "status": "draft", "cost_minor": 250}
    write(ledger, "purchase_order_line", ordered_units=12, **line)
    write(ledger, "purchase_order_line", ordered_units=6, sku="T", **line)
    turn()
    assert receiver.requests == []

    orders.send_order(order_ref=ref, actor="ann")
    turn()

    [request] = receiver.requests
    data = request.document["data"]
    assert (request.document["type"], data["id"], data["sku"]) == ("order.sent", ref, None)
    sent = data["order"]
    assert (sent["supplier"], sent["lines"], sent["units"]) == ("ACME", 2, 18)
    assert (sent["value_minor"], sent["sent_by"], data["proposal"]) == (4500, "ann", None)
    buyer = program_of(account("buyer"))
    [event] = buyer.get("/api/v1/decisions", kind="order").json()["items"]
    assert (event["id"], event["order"]["units"]) == (ref, 18)


def test_after_a_500_the_message_is_retried_and_blocks_only_its_own_key(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    register(receiver.url)
    statuses = iter([500])
    receiver.answer = lambda _: next(statuses, 204)
    reorder_proposal(sinks, **NEED_S)
    revise(sinks, "L|S", 2)
    reorder_proposal(sinks, **NEED_T)
    turn()

    assert [
        (request.document["data"]["sku"], request.document["type"]) for request in receiver.requests
    ] == [("S", "need.opened"), ("T", "need.opened")]
    assert turn() == 0  # the next attempt isn't due yet
    make_due(ledger)
    turn()

    first, _, again, revised = receiver.requests
    assert again.body == first.body
    assert again.headers["webhook-id"] == first.headers["webhook-id"]
    assert revised.document["type"] == "need.revised"
    assert revised.document["position"] > first.document["position"]
    assert ledger.execute("SELECT count(*) FROM app.webhook_message").fetchone() == (0,)


def test_an_answer_after_the_timeout_counts_as_a_failed_attempt(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    register(receiver.url)
    receiver.answer = lambda _: 200 if receiver.release.wait(60) else 500
    reorder_proposal(sinks)
    with loopback_allowed():
        from django.test import override_settings  # noqa: PLC0415 -- needs Django set up

        with override_settings(WEBHOOK_TIMEOUT_S=0.2):
            assert turn() == 1
    receiver.release.set()

    found = ledger.execute("SELECT attempts, problem FROM app.webhook_message").fetchall()
    assert found == [(1, "no answer within 0.2 s")]
    make_due(ledger)
    turn()
    assert len({request.headers["webhook-id"] for request in receiver.requests}) == 1
    assert ledger.execute("SELECT count(*) FROM app.webhook_message").fetchone() == (0,)


def test_retry_waits_grow_to_two_hours_and_end_after_twenty_attempts(database: str) -> None:
    messages = import_module("ledger.webhooks.messages")
    waits = [messages.wait_after(attempts).total_seconds() for attempts in range(1, 20)]

    for number, wait in enumerate(waits):
        planned = min(7200, 5 * 2**number)
        assert planned * 0.8 <= wait <= planned * 1.2
    assert messages.wait_after(20) is None
    assert len({messages.wait_after(10) for _ in range(10)}) > 1


def test_messages_are_signed_with_both_secrets_while_both_are_valid(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    registry = import_module("ledger.webhooks.registry")
    hook = register(receiver.url)
    new = registry.rotate_secret(registry.Which(hook.id, "buyer"))
    reorder_proposal(sinks)
    turn()
    ledger.execute("UPDATE app.webhook SET former_until = clock_timestamp()")
    revise(sinks, "L|S", 2)
    turn()

    both, one = receiver.requests
    assert new.secret not in (None, hook.secret)
    assert both.is_signed_with(hook.secret)
    assert both.is_signed_with(new.secret)
    assert one.is_signed_with(new.secret)
    assert not one.is_signed_with(hook.secret)


def test_a_stopped_webhook_waits_and_continues_with_every_event(
    receiver: Receiver, sinks: psycopg.Connection
) -> None:
    registry = import_module("ledger.webhooks.registry")
    queries = import_module("ledger.webhooks.queries")
    hook = register(receiver.url)
    which = registry.Which(hook.id, "olga")
    registry.stop_webhook(which)
    reorder_proposal(sinks)
    revise(sinks, "L|S", 2)

    assert turn() == 0
    [listed] = queries.webhooks()
    assert (listed.status, listed.stop_reason, listed.waiting) == ("stopped", "stopped by olga", 2)
    registry.resume_webhook(which)
    turn()
    assert receiver.types == ["need.opened", "need.revised"]


def test_messages_and_events_of_a_stopped_webhook_are_counted_up_to_a_thousand(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    registry = import_module("ledger.webhooks.registry")
    hook = register(receiver.url)
    registry.stop_webhook(registry.Which(hook.id, "olga"))
    reorder_proposal(sinks)
    revise(sinks, "L|S", 2)
    ledger.execute(
        "INSERT INTO app.webhook_message (webhook_id, message_id, ordering_key, type, body)"
        " SELECT %s, n, 'L|S', 'need.opened', '{}' FROM generate_series(1, 999) n",
        [hook.id],
    )

    [listed] = import_module("ledger.webhooks.queries").webhooks()
    assert listed.waiting == 1000


def test_a_410_answer_stops_the_webhook_and_a_redirect_is_not_followed(
    receiver: Receiver, sinks: psycopg.Connection
) -> None:
    queries = import_module("ledger.webhooks.queries")
    register(receiver.url)
    statuses = iter([302, 410])
    receiver.answer = lambda _: next(statuses, 204)
    reorder_proposal(sinks, **NEED_S)
    reorder_proposal(sinks, **NEED_T)
    turn()

    [hook] = queries.webhooks()
    assert [request.path for request in receiver.requests] == ["/hooks?from=ledger"] * 2
    assert (hook.status, hook.stop_reason) == ("stopped", "the receiver answered 410 Gone")
    assert (hook.problem, hook.waiting) == ("status 410", 2)
    assert queries.trouble().halted == 1


def test_only_events_of_the_owner_s_stores_are_sent(
    receiver: Receiver, sinks: psycopg.Connection
) -> None:
    register(receiver.url, user=account("lead", "regional", stores=("M",)))
    reorder_proposal(sinks)
    reorder_proposal(sinks, reorder_id="R:M|S:1-3", inv_key="M|S", location="M")
    turn()

    assert [request.document["data"]["location"] for request in receiver.requests] == ["M"]


def test_a_webhook_stops_with_its_token_and_with_its_account(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    queries = import_module("ledger.webhooks.queries")
    registry = import_module("ledger.webhooks.registry")
    tokens = import_module("webui.accounts.api_tokens")
    user = account("buyer", "robot")
    program_of(user)
    [token] = tokens.tokens_of(user.pk)
    hook = register(receiver.url, user=user, token_id=token.id)
    tokens.end_token(person=user, number=token.id, actor="robot")
    reorder_proposal(sinks)
    assert turn() == 0
    [listed] = queries.webhooks()
    assert (listed.status, listed.stop_reason) == ("stopped", "its token was ended")

    registry.resume_webhook(registry.Which(hook.id, "olga"))
    assert turn() == 1
    import_module("webui.accounts.people").disable_person(name="robot", actor="test")
    revise(sinks, "L|S", 2)
    assert turn() == 0
    assert queries.webhooks()[0].stop_reason == "its account is disabled"


@pytest.mark.parametrize("is_first", [False, True])
def test_events_that_are_no_longer_kept_are_reported_as_a_gap(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection, *, is_first: bool
) -> None:
    registry = import_module("ledger.webhooks.registry")
    hook = register(receiver.url) if is_first else None
    reorder_proposal(sinks)
    hook = hook or register(receiver.url)
    registry.stop_webhook(registry.Which(hook.id, "olga"))
    for revision in (2, 3, 4):
        revise(sinks, "L|S", revision)
    ledger.execute(
        "DELETE FROM app.decision_event WHERE id < (SELECT max(id) FROM app.decision_event)"
    )
    registry.resume_webhook(registry.Which(hook.id, "olga"))
    turn()

    assert receiver.types == ["webhook.gap", "need.revised"]


def test_a_test_message_has_the_type_webhook_test_and_is_signed(
    receiver: Receiver, ledger: psycopg.Connection
) -> None:
    registry = import_module("ledger.webhooks.registry")
    hook = register(receiver.url)
    registry.send_test(registry.Which(hook.id, "olga"))
    turn()

    [request] = receiver.requests
    assert (request.document["type"], request.document["position"]) == ("webhook.test", None)
    assert request.is_signed_with(hook.secret)
    registry.stop_webhook(registry.Which(hook.id, "olga"))
    with pytest.raises(import_module("ledger.kernel.errors").Conflict, match="resume it first"):
        registry.send_test(registry.Which(hook.id, "olga"))


def test_a_deleted_webhook_keeps_no_secret_and_no_message(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    registry = import_module("ledger.webhooks.registry")
    sender = import_module("ledger.webhooks.sender")
    hook = register(receiver.url)
    reorder_proposal(sinks)
    import_module("ledger.webhooks.queue").queue_all()
    registry.delete_webhook(registry.Which(hook.id, "olga"))

    assert turn() == 0
    assert sender.delete_old() == 1
    found = ledger.execute("SELECT status, secret, former_secret FROM app.webhook").fetchall()
    assert found == [("deleted", "", None)]
    with pytest.raises(import_module("ledger.kernel.errors").ServiceError, match="no such webhook"):
        registry.stop_webhook(registry.Which(hook.id, "olga"))


def test_a_secret_that_another_key_encrypted_stops_the_webhook(
    receiver: Receiver, sinks: psycopg.Connection
) -> None:
    from django.test import override_settings  # noqa: PLC0415 -- needs Django set up

    register(receiver.url)
    reorder_proposal(sinks)
    with override_settings(SECRET_KEY="another key of the pages"):  # noqa: S106 -- a test's own
        assert turn() == 0

    [hook] = import_module("ledger.webhooks.queries").webhooks()
    assert "another secret key" in hook.stop_reason
    assert receiver.requests == []


def test_a_webhook_sends_again_after_key_change_rotation_and_resumption(
    receiver: Receiver, sinks: psycopg.Connection
) -> None:
    from django.test import override_settings  # noqa: PLC0415 -- needs Django set up

    registry = import_module("ledger.webhooks.registry")
    hook = register(receiver.url)
    reorder_proposal(sinks)
    with override_settings(SECRET_KEY="another key of the pages"):  # noqa: S106 -- a test's own
        assert turn() == 0
        new = registry.rotate_secret(registry.Which(hook.id, "buyer"))
        registry.resume_webhook(registry.Which(hook.id, "buyer"))
        assert turn() == 1

    [request] = receiver.requests
    assert request.is_signed_with(new.secret)
    assert not request.is_signed_with(hook.secret)
    [listed] = import_module("ledger.webhooks.queries").webhooks()
    assert (listed.status, listed.former_until) == ("active", None)


def test_two_senders_send_a_message_once_and_keep_the_order_of_its_key(
    receiver: Receiver, sinks: psycopg.Connection, server: Any, database: str
) -> None:
    """While one sender holds the first message of a key, the other sends no message of this key."""
    register(receiver.url)
    reorder_proposal(sinks, **NEED_S)
    revise(sinks, "L|S", 2)
    reorder_proposal(sinks, **NEED_T)
    import_module("ledger.webhooks.queue").queue_all()
    with psycopg.connect(server.url("app_rw", database)) as other:
        other.execute(
            "SELECT FROM app.webhook_message WHERE type = 'need.opened'"
            " AND ordering_key = 'L|S' FOR UPDATE"
        )
        turn()
        assert [request.document["data"]["sku"] for request in receiver.requests] == ["T"]
    turn()

    assert receiver.types == ["need.opened", "need.opened", "need.revised"]


def test_an_account_has_at_most_ten_webhooks(
    receiver: Receiver, ledger: psycopg.Connection
) -> None:
    for _ in range(10):
        register(receiver.url)

    with pytest.raises(import_module("ledger.kernel.errors").Conflict, match="limit"):
        register(receiver.url)
