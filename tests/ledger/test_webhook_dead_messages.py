"""Dead messages of webhooks: when the sender gives up, and how a person sends a message again."""

from collections.abc import Iterator
from importlib import import_module

import psycopg
import pytest

from tests.ledger.hooked import loopback_allowed, register, turn
from tests.ledger.receiver import Receiver, running_receiver
from tests.ledger.rows import NOON, reorder_proposal
from tests.ledger.test_webhooks import revise


@pytest.fixture
def receiver(ledger: psycopg.Connection) -> Iterator[Receiver]:
    with loopback_allowed(), running_receiver() as running:
        yield running


def test_a_message_is_dead_after_the_last_attempt_and_a_person_replays_it(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    registry = import_module("ledger.webhooks.registry")
    queries = import_module("ledger.webhooks.queries")
    hook = register(receiver.url)
    statuses = iter([503])
    receiver.answer = lambda _: next(statuses, 204)
    reorder_proposal(sinks)
    revise(sinks, "L|S", 2)
    import_module("ledger.webhooks.queue").queue_all()
    ledger.execute("UPDATE app.webhook_message SET attempts = 19 WHERE type = 'need.opened'")
    turn()

    [dead] = queries.dead_messages([hook.id])
    assert (dead.type, dead.attempts, dead.problem) == ("need.opened", 20, "status 503")
    assert receiver.types == ["need.opened", "need.revised"]  # later messages of the key are sent
    [listed] = queries.webhooks()
    assert (listed.waiting, listed.dead, listed.problem) == (0, 1, "status 503")
    registry.stop_webhook(registry.Which(hook.id, "olga"))
    found = queries.trouble()
    assert (found.active, found.halted, found.messages) == (0, 0, 1)
    registry.resume_webhook(registry.Which(hook.id, "olga"))

    which = registry.Which(hook.id, "olga")
    assert registry.replay_messages(which, message_id=dead.message_id) == 1
    turn()

    assert receiver.requests[2].body == receiver.requests[0].body
    assert queries.dead_messages([hook.id]) == []
    with pytest.raises(import_module("ledger.kernel.errors").ServiceError, match="dead message"):
        registry.replay_messages(which, message_id=dead.message_id)


def test_the_oldest_failure_is_found_among_more_dead_messages_than_are_counted(
    receiver: Receiver, ledger: psycopg.Connection
) -> None:
    """The oldest failure is in the middle: neither the first nor the last 1,000 rows have it."""
    ledger.execute(
        "INSERT INTO app.webhook_message (webhook_id, message_id, ordering_key, type, body, status,"
        " failed_at) SELECT %s, 10000 + n, 'L|S', 'need.opened', '{}', 'dead',"
        " timestamptz '2026-03-02 12:00+00' + make_interval(mins => abs(n - 1500))"
        " FROM generate_series(1, 3000) n",
        [register(receiver.url).id],
    )

    found = import_module("ledger.webhooks.queries").trouble()

    assert (found.messages, found.oldest) == (1000, NOON)


def test_a_message_that_waits_7_days_behind_a_failed_one_is_dead_and_replayable(
    receiver: Receiver, sinks: psycopg.Connection, ledger: psycopg.Connection
) -> None:
    registry, queries, sender = (
        import_module(f"ledger.webhooks.{name}") for name in ("registry", "queries", "sender")
    )
    which = registry.Which(register(receiver.url).id, "olga")
    statuses = iter([503, 503])
    receiver.answer = lambda _: next(statuses, 204)
    reorder_proposal(sinks)
    revise(sinks, "L|S", 2)
    import_module("ledger.webhooks.queue").queue_all()
    older = "UPDATE app.webhook_message SET due_at = due_at - interval '7 days'"

    ledger.execute(older)
    assert sender.expire_waiting() == 0  # nothing has failed: the sender may have been stopped
    turn()
    registry.stop_webhook(which)
    assert sender.expire_waiting() == 0
    registry.resume_webhook(which)
    revise(sinks, "L|S", 3)
    import_module("ledger.webhooks.queue").queue_all()
    ledger.execute(f"{older} WHERE type = 'need.revised' AND body LIKE '%\"revision\":2%'")
    assert sender.expire_waiting() == 0  # the sender was stopped, so it tries again first
    turn()
    assert sender.expire_waiting() == 1

    [dead] = queries.dead_messages([which.webhook_id])
    assert (dead.type, dead.attempts) == ("need.revised", 0)
    assert dead.problem == "waited 7 days behind messages that failed"
    assert queries.trouble().messages == 1
    ledger.execute("UPDATE app.webhook_message SET due_at = now() WHERE type = 'need.opened'")
    turn()
    assert receiver.types == ["need.opened"] * 3 + ["need.revised"]
    assert (sender.delete_old(), registry.replay_messages(which)) == (0, 1)
    turn()
    assert receiver.requests[4].document["id"] == dead.message_id
