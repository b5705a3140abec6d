"""Commands on webhooks: register, rotate the secret, stop, resume, delete, test, replay.

A webhook belongs to an account, and gets events of that account's stores. The API changes webhooks
of its caller; the operators' page changes webhooks of all accounts. A secret is returned once, by
the call that made it: neither `app.command` nor the audit log has it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final
from uuid import UUID

from django.conf import settings

from ledger.access.scope import require_store
from ledger.decisions.documents import KINDS
from ledger.decisions.events import newest_event
from ledger.items.names import check_location
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Done, Written, run_command
from ledger.kernel.transactions import database_now, execute, fetch_value, log_action
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message, gettext_noop
from ledger.webhooks.events import test_message
from ledger.webhooks.messages import insert_messages
from ledger.webhooks.signing import can_open, new_secret, sealed
from ledger.webhooks.targets import check_url

MOST_WEBHOOKS: Final = 10
BOTH_VALID: Final = timedelta(hours=24)
ACTIVE: Final = "active"
STOPPED: Final = "stopped"
DELETED: Final = "deleted"
_MISSING: Final = gettext_noop("no such webhook")

_NEW: Final = """
INSERT INTO app.webhook (person_id, token_id, url, kinds, location, secret, after_id, created_by)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING id
"""
_LOCKED: Final = """
SELECT w.id, w.person_id, u.username AS owner, w.status FROM app.webhook w
JOIN app.auth_user u ON u.id = w.person_id
WHERE w.id = %s AND w.status <> 'deleted' AND (%s::int IS NULL OR w.person_id = %s) FOR UPDATE OF w
"""
# The previous secret becomes `former_secret`. The secret before it isn't valid from then on.
# `kept` is the former secret, NULL if it can't be decrypted and so can't sign messages.
_ROTATE: Final = """
UPDATE app.webhook SET secret = %s, former_secret = former.kept,
    former_until = CASE WHEN former.kept IS NOT NULL THEN clock_timestamp() + %s END
FROM (SELECT %s::text AS kept) former WHERE id = %s
"""
# `due_at` is the time from which the age of a waiting message counts, so this update also starts
# the age limit again.
_DUE_NOW: Final = """
UPDATE app.webhook_message SET due_at = clock_timestamp()
WHERE webhook_id = %s AND status = 'waiting'
"""


@dataclass(frozen=True, slots=True)
class Owner:
    """The account of a webhook, and the token with which it registers the webhook."""

    person_id: int
    name: str
    token_id: int | None


@dataclass(frozen=True, slots=True)
class RegisterWebhook:
    """An address, and the kinds and the location of the events that it receives.

    If `location` is "", the address receives the events of all locations.
    """

    url: str
    kinds: tuple[str, ...]
    location: str = ""

    def check(self) -> None:
        """Raise `ServiceError` for the first value that breaks a rule."""
        check_url(self.url, private_allowed=settings.WEBHOOK_PRIVATE_TARGETS)
        if not self.kinds:
            refuse("kinds", "", Message("at least one of %(kinds)s", kinds=", ".join(KINDS)))
        for kind in self.kinds:
            checks.one_of("kinds", kind, KINDS)
        if self.location:
            require_store(self.location)
            check_location(self.location)


@dataclass(frozen=True, slots=True)
class Registered:
    """A webhook with its new secret; `secret` is None if the command is repeated."""

    id: int
    secret: str | None


@dataclass(frozen=True, slots=True)
class Which:
    """The webhook that a command changes, and the actor of the command.

    With `person_id`, the webhook must belong to this account.
    """

    webhook_id: int
    actor: str
    person_id: int | None = None
    command_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class _Locked:
    """The locked row of a webhook that is not deleted."""

    id: int
    person_id: int
    owner: str
    status: str


def register_webhook(
    command: RegisterWebhook, owner: Owner, *, command_id: UUID | None = None
) -> Registered:
    """Register an address; return the webhook's id and its new secret.

    The address receives only events that are newer than this command.

    Raises:
        ServiceError: the address, a kind or the location is not valid.
        Conflict: the account has 10 webhooks.
    """
    command.check()
    secret = new_secret()
    fresh: list[str] = []

    def work() -> Written:
        _refuse_too_many(owner)
        kinds = [kind for kind in KINDS if kind in command.kinds]
        stored = sealed(owner.person_id, secret)
        values = (owner.person_id, owner.token_id, command.url, kinds, command.location, stored)
        webhook_id = int(fetch_value(_NEW, *values, newest_event(), owner.name))
        detail = {"webhook": webhook_id, "url": command.url, "kinds": kinds}
        log_action(actor=owner.name, action="register_webhook", subject=owner.name, detail=detail)
        fresh.append(secret)
        return Written(webhook_id)

    content = (command.url, sorted(command.kinds), command.location)
    done = run_command(command_id, "register_webhook", owner.name, work, Written, content=content)
    return Registered(done.id, fresh[0] if fresh else None)


def rotate_secret(which: Which) -> Registered:
    """Give a webhook a new secret; return the webhook's id and the secret.

    For 24 hours, each message also has a signature by the former secret. This second signature is
    missing if Django's secret key has changed, so that the former secret can't be decrypted.
    """
    fresh: list[str] = []

    def work(hook: _Locked) -> None:
        secret = new_secret()
        former = fetch_value("SELECT secret FROM app.webhook WHERE id = %s", hook.id)
        kept = former if can_open(hook.person_id, former) else None
        execute(_ROTATE, sealed(hook.person_id, secret), BOTH_VALID, kept, hook.id)
        fresh.append(secret)

    _command(which, "rotate_webhook", work)
    return Registered(which.webhook_id, fresh[0] if fresh else None)


def stop_webhook(which: Which) -> None:
    """Stop a webhook; its events wait, for at most 90 days."""

    def work(hook: _Locked) -> None:
        if hook.status == ACTIVE:
            _set_status(hook.id, STOPPED, Message("stopped by %(actor)s", actor=which.actor))

    _command(which, "stop_webhook", work)


def resume_webhook(which: Which, *, token_id: int | None = None) -> None:
    """Resume a webhook. If it was stopped, its waiting events are sent at once.

    `token_id` becomes the webhook's API token: when a person ends this token, the webhook stops. An
    active webhook gets this token too, so that its owner can end the former token. With None, a
    stopped webhook has no token afterwards, and an active webhook keeps its token.
    """

    def work(hook: _Locked) -> None:
        if hook.status != ACTIVE:
            _set_status(hook.id, ACTIVE, "")
            execute(_DUE_NOW, hook.id)
        if hook.status != ACTIVE or token_id is not None:
            execute("UPDATE app.webhook SET token_id = %s WHERE id = %s", token_id, hook.id)

    _command(which, "resume_webhook", work)


def delete_webhook(which: Which) -> None:
    """Delete a webhook with its secrets. The sender deletes its messages."""

    def work(hook: _Locked) -> None:
        _set_status(hook.id, DELETED, Message("deleted by %(actor)s", actor=which.actor))
        execute(
            "UPDATE app.webhook SET secret = '', former_secret = NULL, former_until = NULL"
            " WHERE id = %s",
            hook.id,
        )

    _command(which, "delete_webhook", work)


def send_test(which: Which) -> None:
    """Queue a test message; raise `Conflict` while the webhook is stopped."""

    def work(hook: _Locked) -> None:
        if hook.status != ACTIVE:
            message = Message("webhook %(id)s is stopped: resume it first", id=hook.id)
            raise Conflict(message)
        insert_messages(hook.id, [test_message(database_now())])

    _command(which, "test_webhook", work)


def replay_messages(which: Which, *, message_id: str = "") -> int:
    """Queue the dead messages of a webhook again, or only `message_id`; return their number.

    Return 0 for a repeated command. Raise `ServiceError` if `message_id` is no dead message.
    """
    queued: list[int] = []

    def work(hook: _Locked) -> None:
        statement = (
            "UPDATE app.webhook_message SET status = 'waiting', attempts = 0,"
            " due_at = clock_timestamp() WHERE webhook_id = %s AND status = 'dead'"
            " AND (%s = '' OR message_id = %s)"
        )
        queued.append(execute(statement, hook.id, message_id, message_id))
        if message_id and not queued[0]:
            refuse("message_id", message_id, "this webhook has no dead message with this id")

    _command(which, "replay_webhook", work, content=message_id)
    return sum(queued)


def _command(
    which: Which, action: str, work: Callable[[_Locked], None], *, content: object = None
) -> None:
    """Execute `work` on the locked webhook, once per command id, and write the audit log."""

    def once() -> Done:
        person_id = which.person_id
        hook = read_one(_Locked, _LOCKED, which.webhook_id, person_id, person_id)
        if hook is None:
            refuse("webhook_id", which.webhook_id, _MISSING)
        work(hook)
        detail = {"webhook": hook.id}
        log_action(actor=which.actor, action=action, subject=hook.owner, detail=detail)
        return Done()

    kind = f"{action} {which.webhook_id}"
    run_command(which.command_id, kind, which.actor, once, Done, content=content)


def _set_status(webhook_id: int, status: str, reason: str) -> None:
    execute(
        "UPDATE app.webhook SET status = %s, stop_reason = %s WHERE id = %s",
        status,
        reason,
        webhook_id,
    )


def _refuse_too_many(owner: Owner) -> None:
    # The lock keeps two requests from passing the limit together.
    execute("SELECT FROM app.auth_user WHERE id = %s FOR UPDATE", owner.person_id)
    held = fetch_value(
        "SELECT count(*) FROM app.webhook WHERE person_id = %s AND status <> 'deleted'",
        owner.person_id,
    )
    if held >= MOST_WEBHOOKS:
        message = Message(
            "%(name)s has %(most)s webhooks, which is the limit: delete one first",
            name=owner.name,
            most=held,
        )
        raise Conflict(message)
