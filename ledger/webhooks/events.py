"""Messages of webhooks: the JSON body of a decision event, of a test and of a gap.

A gap is a range of events that were deleted before they became messages. A body is made once, so
every attempt sends the same bytes.
"""

import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid4, uuid5

from ledger.decisions.documents import ORDER, cursor, event_document
from ledger.decisions.events import DecisionEvent

TEST: Final = "webhook.test"
GAP: Final = "webhook.gap"


@dataclass(frozen=True, slots=True)
class Message:
    """A message with its body as JSON. Messages with the same `ordering_key` are sent in order."""

    message_id: str
    ordering_key: str
    type: str
    body: str


def event_message(event: DecisionEvent, currency: str) -> Message:
    """Return the message of an event; each call returns the same message.

    The message's id is made from the event's id and time. The event's id alone isn't unique: after
    the restore of a backup, new events get ids that earlier events had.
    """
    message_id = f"evt_{uuid5(NAMESPACE_URL, f'{event.id}@{event.at.isoformat()}').hex}"
    kind = f"{event.kind}.{event.change}"
    data = event_document(event, currency)
    key = event.subject if event.kind == ORDER else event.inv_key
    return Message(message_id, key, kind, _body(message_id, kind, event.at, event.id, data))


def test_message(now: datetime) -> Message:
    """Return a message without an event, by which a person tests a receiver."""
    message_id = f"test_{uuid4().hex}"
    return Message(message_id, message_id, TEST, _body(message_id, TEST, now, None, {}))


def gap_message(now: datetime, *, after: int, oldest: int) -> Message:
    """Return the message about a gap: the events with `after` < id < `oldest` were deleted."""
    message_id = f"gap_{uuid4().hex}"
    data = {"after": cursor(str(after)), "continues_before": cursor(str(oldest))}
    return Message(message_id, message_id, GAP, _body(message_id, GAP, now, None, data))


def _body(
    message_id: str, kind: str, at: datetime, position: int | None, data: dict[str, Any]
) -> str:
    document = {"id": message_id, "type": kind, "timestamp": at, "position": position}
    return json.dumps(document | {"data": data}, default=_text, separators=(",", ":"))


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
