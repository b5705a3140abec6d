"""JSON documents of decision events, for lists and the stream of the API, and for webhooks."""

import base64
from typing import Any, Final

from cdc.contracts.times import moment_of
from ledger.decisions.events import DecisionEvent

ORDER: Final = "order"
KINDS: Final = ("need", "price", ORDER)
Document = dict[str, Any]
_PROPOSAL: Final = (
    *("revision", "status", "supplier", "quantity_units", "decided_units", "cost_minor", "flags"),
    *("old_minor", "new_minor", "floor_minor", "signal", "reason"),
    *("decided_action", "decided_by", "decided_at"),
)
_ORDER: Final = (
    *("supplier", "lines", "units", "value_minor", "sent_at", "sent_by", "is_automatic"),
)


def cursor(position: str) -> str:
    """Return a position in a list, such as the id of the last event, encoded for URLs.

    The encoding is base64, so that clients don't rely on the content of the text.
    """
    return base64.urlsafe_b64encode(position.encode()).decode().rstrip("=")


def event_document(event: DecisionEvent, currency: str) -> Document:
    """Return an event with the API's field names.

    `at` and the proposal's `as_of` are `datetime`s; all other times are texts in ISO 8601.
    """
    is_order = event.kind == ORDER
    return {
        "cursor": cursor(str(event.id)),
        "at": event.at,
        "kind": event.kind,
        "change": event.change,
        "id": event.subject,
        "location": event.location,
        "sku": None if is_order else event.sku,
        "currency": currency,
        "proposal": None if is_order else _proposal(event.proposal),
        "order": {name: event.proposal[name] for name in _ORDER} if is_order else None,
    }


def _proposal(columns: Document) -> Document:
    as_of_us = columns.get("as_of_us")
    known = {name: columns.get(name) for name in _PROPOSAL}
    as_of = None if as_of_us is None else moment_of(as_of_us)
    return known | {"flags": known["flags"] or [], "as_of": as_of}
