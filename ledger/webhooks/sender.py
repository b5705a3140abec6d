"""The steps of the sender: stop webhooks, send messages, give messages up, and delete old ones.

`ledger.webhooks.queue` has a further step: it turns events into messages.

Each step is one transaction on locked rows, so several senders may run at once, and a killed sender
loses no message. If a sender is killed between the request and its commit, the message is sent
again with the same id. So receivers get each message at least once.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import structlog
from django.conf import settings

from ledger.kernel.encryption import Undecipherable
from ledger.kernel.transactions import database_now, execute, fetch_column, ledger_transaction
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import gettext_noop
from ledger.nouns import counted
from ledger.webhooks.messages import wait_after
from ledger.webhooks.posting import GONE, Answer, Limits, post
from ledger.webhooks.signing import headers_of, opened

_UNREADABLE: Final = gettext_noop(
    "its secret was encrypted with another secret key: rotate the secret, then resume"
)
_GONE: Final = gettext_noop("the receiver answered 410 Gone")

log = structlog.get_logger(__name__)

# A token that a person has ended may have been stolen, so the webhooks that it registered stop too.
_REVOKE: Final = """
UPDATE app.webhook w SET status = 'stopped', stop_reason = found.reason
FROM (SELECT h.id, CASE WHEN u.is_active THEN 'its token was ended'
                        ELSE 'its account is disabled' END AS reason
      FROM app.webhook h JOIN app.auth_user u ON u.id = h.person_id
      LEFT JOIN app.api_token t ON t.id = h.token_id
      WHERE h.status = 'active' AND (NOT u.is_active OR t.ended_at IS NOT NULL)) found
WHERE w.id = found.id AND w.status = 'active'
"""
_CLEAN: Final = """
DELETE FROM app.webhook_message m USING app.webhook w
WHERE w.id = m.webhook_id AND (w.status = 'deleted'
    OR (m.status = 'dead' AND m.failed_at < clock_timestamp() - interval '90 days'))
"""
# A message waits until the earlier messages of its ordering key are delivered or dead. Each earlier
# message may fail for 19 hours before it is dead, so a message could wait for months. This
# statement gives up a message that has waited `WEBHOOK_WAIT_DAYS` days without an attempt. The days
# begin at `due_at`: the time at which the message was queued, a person sent it again, or its
# webhook was resumed. In addition, an earlier message must have failed after these days. So if no
# sender ran for days, the earlier message gets another attempt before this message is given up.
_EXPIRE: Final = """
UPDATE app.webhook_message m SET status = 'dead', failed_at = clock_timestamp(), problem = %s
FROM app.webhook w WHERE w.id = m.webhook_id AND w.status = 'active' AND m.status = 'waiting'
  AND m.attempts = 0 AND m.due_at < clock_timestamp() - make_interval(days => %s) AND EXISTS (
    SELECT FROM app.webhook_message e WHERE e.webhook_id = m.webhook_id AND e.status = 'waiting'
      AND e.ordering_key = m.ordering_key AND e.id < m.id AND e.attempts > 0
      AND e.failed_at > m.due_at + make_interval(days => %s))
"""
_DUE: Final = """
SELECT DISTINCT w.id FROM app.webhook w JOIN app.webhook_message m ON m.webhook_id = w.id
WHERE w.status = 'active' AND m.status = 'waiting' AND m.due_at <= clock_timestamp() ORDER BY w.id
"""
# A message waits for the earlier messages of its ordering key. These have status `waiting` until
# they are delivered or dead, even while another sender has locked them.
_NEXT: Final = """
SELECT m.id, m.webhook_id, m.message_id, m.type, m.body, m.attempts, w.person_id, w.url, w.secret,
       CASE WHEN w.former_until > clock_timestamp() THEN w.former_secret END AS former_secret
FROM app.webhook_message m JOIN app.webhook w ON w.id = m.webhook_id
WHERE w.id = %s AND w.status = 'active' AND m.status = 'waiting'
  AND m.due_at <= clock_timestamp() AND NOT EXISTS (
    SELECT FROM app.webhook_message e WHERE e.webhook_id = m.webhook_id AND e.status = 'waiting'
      AND e.ordering_key = m.ordering_key AND e.id < m.id)
ORDER BY m.id LIMIT 1 FOR UPDATE OF m SKIP LOCKED
"""
_FAILED: Final = """
UPDATE app.webhook_message SET attempts = %s, status = %s, problem = %s,
    failed_at = clock_timestamp(), due_at = clock_timestamp() + coalesce(%s, interval '0')
WHERE id = %s
"""


@dataclass(frozen=True, slots=True)
class _Next:
    """The next message of a webhook, locked, with address and encrypted secrets."""

    id: int
    webhook_id: int
    message_id: str
    type: str
    body: str
    attempts: int
    person_id: int
    url: str
    secret: str
    former_secret: str | None


def end_revoked() -> int:
    """Stop webhooks whose token was ended or whose account is disabled; return their number."""
    return execute(_REVOKE)


def expire_waiting() -> int:
    """Give up messages that have waited too long behind failed ones; return their number.

    The limit is `WEBHOOK_WAIT_DAYS`. Messages of stopped webhooks don't expire.
    """
    days = settings.WEBHOOK_WAIT_DAYS
    problem = f"waited {counted(days, 'day')} behind messages that failed"
    expired = execute(_EXPIRE, problem, days, days)
    if expired:
        log.warning("webhook_messages_expired", messages=expired, days=days)
    return expired


def delete_old() -> int:
    """Delete messages of deleted webhooks, and dead messages after 90 days; return their number."""
    return execute(_CLEAN)


def due_webhooks() -> list[int]:
    """Return the ids of active webhooks that have a message to send now."""
    return [int(webhook_id) for webhook_id in fetch_column(_DUE)]


def send_next(webhook_id: int, attempted: Callable[[str, Answer], None]) -> bool:
    """Attempt to send the next due message of a webhook; return True after an attempt.

    Return False if no message is due. Also return False if the webhook's secret can't be decrypted:
    the webhook is then stopped. The message's row stays locked until the answer is stored. Then
    `attempted` is called with the message's type and the answer.
    """
    with ledger_transaction():
        message = read_one(_Next, _NEXT, webhook_id)
        if message is None:
            return False
        try:
            keys = _keys(message)
        except Undecipherable:
            _stop(message.webhook_id, _UNREADABLE)
            return False
        started = time.monotonic()
        answer = _post(message, keys)
        _store(message, answer)
    attempted(message.type, answer)
    _log(message, answer, time.monotonic() - started)
    return True


def _keys(message: _Next) -> Sequence[str]:
    stored = [text for text in (message.secret, message.former_secret) if text]
    return [opened(message.person_id, text) for text in stored]


def _post(message: _Next, keys: Sequence[str]) -> Answer:
    body = message.body.encode()
    headers = headers_of(message.message_id, int(database_now().timestamp()), body, keys)
    limits = Limits(settings.WEBHOOK_TIMEOUT_S, settings.WEBHOOK_PRIVATE_TARGETS)
    return post(message.url, body, headers, limits)


def _store(message: _Next, answer: Answer) -> None:
    if answer.is_delivered:
        execute("DELETE FROM app.webhook_message WHERE id = %s", message.id)
        execute(
            "UPDATE app.webhook SET delivered_at = clock_timestamp() WHERE id = %s",
            message.webhook_id,
        )
        return
    attempts = message.attempts + 1
    wait = wait_after(attempts)
    status = "dead" if wait is None else "waiting"
    execute(_FAILED, attempts, status, answer.problem, wait, message.id)
    execute(
        "UPDATE app.webhook SET failed_at = clock_timestamp(), problem = %s WHERE id = %s",
        answer.problem,
        message.webhook_id,
    )
    if answer.status == GONE:
        _stop(message.webhook_id, _GONE)


def _stop(webhook_id: int, reason: str) -> None:
    execute(
        "UPDATE app.webhook SET status = 'stopped', stop_reason = %s"
        " WHERE id = %s AND status = 'active'",
        reason,
        webhook_id,
    )


def _log(message: _Next, answer: Answer, seconds: float) -> None:
    """Log a failed attempt, without the path of the address: a path may contain a secret."""
    if answer.is_delivered:
        return
    log.warning(
        "webhook_not_delivered",
        webhook=message.webhook_id,
        message=message.message_id,
        host=urlsplit(message.url).hostname,
        attempts=message.attempts + 1,
        problem=answer.problem,
        milliseconds=round(seconds * 1000),
    )
