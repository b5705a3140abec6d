"""Rows of `app.webhook_message`, and the schedule of repeated attempts.

After the n-th failure, the next attempt waits 5 s × 2^(n-1), at most 2 h. The wait is multiplied by
a random factor from 0.8 to 1.2, so that messages that failed together are not sent together again.
The 20th failure ends the attempts, after about 19 hours.
"""

import random
from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from ledger.kernel.transactions import execute
from ledger.webhooks.events import Message

MOST_ATTEMPTS: Final = 20
_FIRST_WAIT_S: Final = 5
_LONGEST_WAIT_S: Final = 7200
_INSERT: Final = """
INSERT INTO app.webhook_message (webhook_id, message_id, ordering_key, type, body)
SELECT %s, message_id, ordering_key, type, body
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[])
    WITH ORDINALITY AS given (message_id, ordering_key, type, body, place)
ORDER BY place ON CONFLICT (webhook_id, message_id) DO NOTHING
"""


def insert_messages(webhook_id: int, messages: Sequence[Message]) -> int:
    """Queue messages in their order, inside the caller's transaction; return how many are new."""
    if not messages:
        return 0
    return execute(
        _INSERT,
        webhook_id,
        [message.message_id for message in messages],
        [message.ordering_key for message in messages],
        [message.type for message in messages],
        [message.body for message in messages],
    )


def wait_after(attempts: int) -> timedelta | None:
    """Return the wait after failed attempt number `attempts`, or None if it was the last."""
    if attempts >= MOST_ATTEMPTS:
        return None
    planned_s = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2 ** (attempts - 1))
    return timedelta(seconds=planned_s * random.uniform(0.8, 1.2))  # noqa: S311 -- no secret
