"""Queries that read webhooks and their dead messages, for one account or for all accounts."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from ledger.kernel.unscoped_rows import read_all

MOST_COUNTED: Final = 1000
MOST_DEAD: Final = 50
BY_A_PERSON: Final = "stopped by "  # start of `stop_reason` if a person stopped the webhook

# `waiting` also counts events of a stopped webhook that have not become messages yet. It includes
# events of stores that the account doesn't see, which will never become messages.
_WEBHOOKS: Final = f"""
SELECT w.id, u.username AS owner, w.url, w.kinds, w.location, w.status, w.stop_reason,
       w.created_at, w.created_by, w.delivered_at, w.failed_at, w.problem,
       CASE WHEN w.former_until > clock_timestamp() THEN w.former_until END AS former_until,
       least({MOST_COUNTED}, (SELECT count(*) FROM (SELECT FROM app.webhook_message m
           WHERE m.webhook_id = w.id AND m.status = 'waiting' LIMIT {MOST_COUNTED}) few)
       + CASE WHEN w.status = 'stopped' THEN (SELECT count(*) FROM (
           SELECT FROM app.decision_event e WHERE e.id > w.after_id AND e.kind = ANY(w.kinds)
             AND (w.location = '' OR e.location = w.location) LIMIT {MOST_COUNTED}) few)
         ELSE 0 END) AS waiting,
       (SELECT count(*) FROM (SELECT FROM app.webhook_message m WHERE m.webhook_id = w.id
           AND m.status = 'dead' LIMIT {MOST_COUNTED}) few) AS dead
FROM app.webhook w JOIN app.auth_user u ON u.id = w.person_id
WHERE w.status <> 'deleted' AND (%s::int IS NULL OR w.person_id = %s)
  AND (%s::bigint IS NULL OR w.id = %s)
ORDER BY w.id DESC LIMIT 500
"""  # noqa: S608 -- constants of this module
_DEAD: Final = f"""
SELECT m.webhook_id, m.message_id, m.type, m.ordering_key, m.queued_at, m.failed_at, m.attempts,
       m.problem
FROM (SELECT id FROM app.webhook WHERE id = ANY(%s)) w CROSS JOIN LATERAL (
    SELECT * FROM app.webhook_message d WHERE d.webhook_id = w.id AND d.status = 'dead'
    ORDER BY d.id LIMIT {MOST_DEAD}) m
ORDER BY m.webhook_id, m.id
"""  # noqa: S608 -- constants of this module
# `halted` leaves out webhooks that a person stopped, because they need no repair.
_TROUBLE: Final = f"""
SELECT (SELECT count(*) FROM app.webhook WHERE status = 'active')::int AS active,
       (SELECT count(*) FROM app.webhook WHERE status = 'stopped'
           AND NOT starts_with(stop_reason, %s))::int AS halted,
       dead.messages, dead.oldest
FROM (SELECT count(*)::int AS messages, min(few.failed_at) AS oldest FROM (
    SELECT m.failed_at FROM app.webhook_message m JOIN app.webhook w ON w.id = m.webhook_id
    WHERE m.status = 'dead' AND w.status <> 'deleted'
    ORDER BY m.failed_at LIMIT {MOST_COUNTED}) few) dead
"""  # noqa: S608 -- constants of this module


@dataclass(frozen=True, slots=True)
class Trouble:
    """Problems that a person has to solve: halted webhooks and dead messages.

    `halted` counts webhooks that the sender stopped. `messages` counts dead messages, at most
    1,000; `oldest` is the earliest time at which a dead message failed.
    """

    active: int
    halted: int
    messages: int
    oldest: datetime | None


@dataclass(frozen=True, slots=True)
class Webhook:
    """A webhook without its secrets.

    `dead` counts its dead messages, and `waiting` its waiting messages. If the webhook is stopped,
    `waiting` also counts events that are no messages yet. Each number is at most 1,000, even if
    there are more.
    """

    id: int
    owner: str
    url: str
    kinds: list[str]
    location: str
    status: str
    stop_reason: str
    created_at: datetime
    created_by: str
    delivered_at: datetime | None
    failed_at: datetime | None
    problem: str
    former_until: datetime | None
    waiting: int
    dead: int


@dataclass(frozen=True, slots=True)
class DeadMessage:
    """A message that the sender has given up (a dead message); a person may replay it.

    Its attempts have failed, or it has waited too long behind a message whose attempts fail. In the
    second case `attempts` is 0.
    """

    webhook_id: int
    message_id: str
    type: str
    ordering_key: str
    queued_at: datetime
    failed_at: datetime | None
    attempts: int
    problem: str


def trouble() -> Trouble:
    """Return the problems that a person has to solve, over all webhooks."""
    return read_all(Trouble, _TROUBLE, BY_A_PERSON)[0]


def webhooks(*, person_id: int | None = None, webhook_id: int | None = None) -> list[Webhook]:
    """Return up to 500 webhooks, newest first; a parameter that is None matches all."""
    return read_all(Webhook, _WEBHOOKS, person_id, person_id, webhook_id, webhook_id)


def dead_messages(webhook_ids: Sequence[int]) -> list[DeadMessage]:
    """Return the oldest 50 dead messages of each webhook, ordered by webhook, oldest first."""
    return read_all(DeadMessage, _DEAD, list(webhook_ids))
