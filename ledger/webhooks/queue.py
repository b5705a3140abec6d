"""The step of the sender that turns new events into messages."""

from dataclasses import dataclass
from typing import Final

from django.conf import settings

from ledger.access.scope import Scope, stores_of, within
from ledger.decisions.events import decision_events, newest_event, oldest_event
from ledger.kernel.transactions import database_now, execute, fetch_column, ledger_transaction
from ledger.kernel.unscoped_rows import read_one
from ledger.webhooks.events import event_message, gap_message
from ledger.webhooks.messages import insert_messages

EVENTS_A_STEP: Final = 200
_BEHIND: Final = """
SELECT id FROM app.webhook WHERE status = 'active'
    AND after_id < (SELECT coalesce(max(id), 0) FROM app.decision_event) ORDER BY id
"""
_LOCKED: Final = """
SELECT id, person_id, kinds, location, after_id FROM app.webhook
WHERE id = %s AND status = 'active' FOR UPDATE SKIP LOCKED
"""


@dataclass(frozen=True, slots=True)
class _Hook:
    """An active webhook, locked, whose events become messages."""

    id: int
    person_id: int
    kinds: list[str]
    location: str
    after_id: int


def queue_all() -> int:
    """Turn new events into messages for each active webhook; return the number of new messages."""
    return sum(_queue(int(webhook_id)) for webhook_id in fetch_column(_BEHIND))


def _queue(webhook_id: int) -> int:
    with ledger_transaction():
        hook = read_one(_Hook, _LOCKED, webhook_id)
        if hook is None:  # the webhook was stopped meanwhile, or another sender queues its events
            return 0
        queued = _queue_gap(hook)
        # Read the newest id before the events: the next statement sees every event up to this id.
        newest = newest_event()
        with within(_scope(hook.person_id)):
            found = decision_events(after=hook.after_id, location=hook.location, rows=EVENTS_A_STEP)
        wanted = [event for event in found if event.kind in hook.kinds]
        messages = [event_message(event, str(settings.CURRENCY)) for event in wanted]
        queued += insert_messages(hook.id, messages)
        last = found[-1].id if found else hook.after_id
        after = last if len(found) == EVENTS_A_STEP else max(newest, last)
        execute("UPDATE app.webhook SET after_id = %s WHERE id = %s", after, hook.id)
    return queued


def _queue_gap(hook: _Hook) -> int:
    oldest = oldest_event()
    if hook.after_id + 1 >= oldest:
        return 0
    return insert_messages(
        hook.id, [gap_message(database_now(), after=hook.after_id, oldest=oldest)]
    )


def _scope(person_id: int) -> Scope:
    from django.contrib.auth.models import User  # noqa: PLC0415 -- needs Django set up

    return stores_of(User.objects.get(pk=person_id))
