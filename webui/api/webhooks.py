"""Webhooks of the caller's account: register, list, rotate, stop, resume, test, replay, delete."""

from datetime import datetime
from typing import Annotated, Literal, assert_never

from django.http import Http404, HttpRequest
from ninja import Path, Router, Schema
from pydantic import Field

from ledger.decisions.documents import KINDS
from ledger.webhooks.queries import dead_messages, webhooks
from ledger.webhooks.registry import (
    Owner,
    RegisterWebhook,
    Which,
    delete_webhook,
    register_webhook,
    replay_messages,
    resume_webhook,
    rotate_secret,
    send_test,
    stop_webhook,
)
from ledger.webhooks.targets import LONGEST_URL
from webui.accounts.api_tokens import WEBHOOKS_MANAGE
from webui.accounts.roles import MANAGE_WEBHOOKS
from webui.api.access import Caller, Token, caller_of
from webui.api.answers import CommandId, Given, Text, described

router = Router(tags=["webhooks"])
MANAGE = Token(WEBHOOKS_MANAGE, MANAGE_WEBHOOKS)
WebhookId = Annotated[int, Path(ge=1, le=2**63 - 1, description="The `id` of a webhook.")]
Kind = Literal["need", "price", "order"]


class Webhook(Schema):
    """A webhook without its secret. `waiting` and `dead` count messages, up to 1,000.

    After a rotation, the former secret also signs messages until `former_until`. Otherwise
    `former_until` is null.
    """

    id: int
    url: str
    kinds: list[str]
    location: str
    status: str
    stop_reason: str
    created_at: datetime
    delivered_at: datetime | None
    failed_at: datetime | None
    problem: str
    former_until: datetime | None
    waiting: int
    dead: int


class WebhookList(Schema):
    """The webhooks of the account, the newest first."""

    items: list[Webhook]


class DeadLetter(Schema):
    """A dead message, which the sender has given up.

    Its 20 attempts have failed, or it has waited too long behind a message whose attempts fail.
    """

    message_id: str
    type: str
    queued_at: datetime
    failed_at: datetime | None
    attempts: int
    problem: str


class WebhookAnswer(Schema):
    """One webhook, and its oldest 50 dead messages."""

    item: Webhook
    dead: list[DeadLetter]


def _all_kinds() -> list[Kind]:
    return ["need", "price", "order"]


class Register(Given):
    """A URL that receives events from now on.

    With a `location`, it receives the events of this store only. Otherwise it receives the events
    of all stores of the account.
    """

    url: Annotated[Text, Field(min_length=1, max_length=LONGEST_URL)]
    kinds: Annotated[list[Kind], Field(min_length=1, max_length=len(KINDS))] = Field(
        default_factory=_all_kinds
    )
    location: Annotated[Text, Field(max_length=24)] = ""


class WebhookSecret(Schema):
    """The secret that verifies signatures. A repeated request gets null in place of the secret."""

    id: int
    secret: str | None


class Rotate(Given):
    """Make a new secret. The former one also signs for 24 hours."""

    action: Literal["rotate"]


class StopWebhook(Given):
    """Stop sending; events wait until the webhook resumes."""

    action: Literal["stop"]


class ResumeWebhook(Given):
    """Continue with the events that wait."""

    action: Literal["resume"]


class TestWebhook(Given):
    """Send a message of type `webhook.test`."""

    action: Literal["test"]


class ReplayMessages(Given):
    """Send all dead messages of the webhook again, or one of them.

    A message is dead after 20 failed attempts, or if it waits too long behind a message whose
    attempts fail.
    """

    action: Literal["replay"]
    message_id: Text = ""


class DeleteWebhook(Given):
    """Delete the webhook with its messages and secrets."""

    action: Literal["delete"]


WebhookCommand = Annotated[
    Rotate | StopWebhook | ResumeWebhook | TestWebhook | ReplayMessages | DeleteWebhook,
    Field(discriminator="action"),
]


class WebhookDone(Schema):
    """The result of a command. Only the first response to a rotation has a secret."""

    id: int
    action: str
    secret: str | None = None


@router.get("/webhooks", auth=MANAGE, response=WebhookList, operation_id="listWebhooks")
def list_webhooks(request: HttpRequest) -> WebhookList:
    """List the webhooks of the account."""
    found = webhooks(person_id=caller_of(request).user.pk)
    return WebhookList(items=[described(Webhook, hook) for hook in found])


@router.post("/webhooks", auth=MANAGE, response=WebhookSecret, operation_id="registerWebhook")
def register(request: HttpRequest, body: Register, command_id: CommandId) -> WebhookSecret:
    """Register a URL; the response has the secret, which is not shown again."""
    caller = caller_of(request)
    owner = Owner(caller.user.pk, caller.name, caller.token)
    wanted = RegisterWebhook(body.url, tuple(body.kinds), body.location)
    return described(WebhookSecret, register_webhook(wanted, owner, command_id=command_id))


@router.get(
    "/webhooks/{int:webhook_id}", auth=MANAGE, response=WebhookAnswer, operation_id="getWebhook"
)
def get_webhook(request: HttpRequest, webhook_id: WebhookId) -> WebhookAnswer:
    """Return one webhook and its dead messages."""
    found = webhooks(person_id=caller_of(request).user.pk, webhook_id=webhook_id)
    if not found:
        message = f"this account has no webhook {webhook_id}"
        raise Http404(message)
    dead = [described(DeadLetter, message) for message in dead_messages([webhook_id])]
    return WebhookAnswer(item=described(Webhook, found[0]), dead=dead)


@router.post(
    "/webhooks/{int:webhook_id}", auth=MANAGE, response=WebhookDone, operation_id="changeWebhook"
)
def change_webhook(
    request: HttpRequest, webhook_id: WebhookId, body: WebhookCommand, command_id: CommandId
) -> WebhookDone:
    """Stop, resume, test or delete a webhook, rotate its secret or resend its dead messages."""
    caller = caller_of(request)
    which = Which(webhook_id, caller.name, caller.user.pk, command_id)
    return WebhookDone(id=webhook_id, action=body.action, secret=_change(which, body, caller))


def _change(which: Which, body: WebhookCommand, caller: Caller) -> str | None:
    match body:
        case Rotate():
            return rotate_secret(which).secret
        case StopWebhook():
            stop_webhook(which)
        case ResumeWebhook():
            resume_webhook(which, token_id=caller.token)
        case TestWebhook():
            send_test(which)
        case ReplayMessages():
            replay_messages(which, message_id=body.message_id)
        case DeleteWebhook():
            delete_webhook(which)
        case _:
            assert_never(body)
    return None
