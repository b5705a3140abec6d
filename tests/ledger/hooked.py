"""Webhooks in tests: settings that allow loopback, a registered address, a round of the sender."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import psycopg

from tests.ledger.programs import account

KINDS = ("need", "price", "order")


@contextmanager
def loopback_allowed(**further: object) -> Iterator[None]:
    """Allow targets on this machine, with a short time limit."""
    from django.test import override_settings  # noqa: PLC0415 -- needs Django set up

    settings = {"WEBHOOK_PRIVATE_TARGETS": True, "WEBHOOK_TIMEOUT_S": 5.0, **further}
    with override_settings(**settings):
        yield


def register(
    url: str,
    *,
    user: Any = None,
    token_id: int | None = None,
    kinds: tuple[str, ...] = KINDS,
    location: str = "",
) -> Any:
    """Register a webhook for `user`, by default for a buyer. Return its id and its secret."""
    registry = import_module("ledger.webhooks.registry")
    owner = user or account("buyer")
    wanted = registry.RegisterWebhook(url, kinds, location)
    return registry.register_webhook(
        wanted, registry.Owner(owner.pk, owner.get_username(), token_id)
    )


def turn(attempted: Callable[[str, Any], None] = lambda _type, _answer: None) -> int:
    """Run one round of the webhook sender. Return the number of attempts."""
    sender = import_module("ledger.webhooks.sender")
    sender.end_revoked()
    import_module("ledger.webhooks.queue").queue_all()
    attempts = 0
    for webhook_id in sender.due_webhooks():
        while sender.send_next(webhook_id, attempted):
            attempts += 1
    return attempts


def make_due(ledger: psycopg.Connection) -> None:
    """Make every waiting message due now."""
    ledger.execute("UPDATE app.webhook_message SET due_at = clock_timestamp()")
