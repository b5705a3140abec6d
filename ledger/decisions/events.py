"""Queries of decision events, in order of commit.

An event is a change of a need or a proposed price, or the sending of an order. Events get their ids
in the order of their commits (migration 0030). So a reader that continues after the last id that it
has read misses no event, and reads none twice.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from ledger.kernel.rows import select
from ledger.kernel.transactions import fetch_value


@dataclass(frozen=True, slots=True)
class DecisionEvent:
    """A changed proposal or a sent order.

    For a changed proposal, `proposal` has the proposal's columns at the commit. For an order,
    `proposal` has supplier, sender, time, `is_automatic`, and the totals of the order's lines;
    `inv_key` and `sku` are then empty.
    """

    id: int
    at: datetime
    kind: str
    subject: str
    change: str
    inv_key: str
    location: str
    sku: str
    proposal: Any


_EVENTS: Final = """
SELECT id, at, kind, subject, change, inv_key, location, sku, proposal FROM app.decision_event e
WHERE id > %(after)s AND (%(location)s = '' OR location = %(location)s)
  AND (%(kind)s = '' OR kind = %(kind)s)
ORDER BY id LIMIT %(rows)s
"""


def decision_events(
    *, after: int, location: str = "", kind: str = "", rows: int
) -> list[DecisionEvent]:
    """Return at most `rows` events with an id above `after`, ordered by id.

    During the request of a person, return only events of that person's stores. An empty `location`
    or `kind` means every location or every kind.
    """
    given = {"after": after, "location": location, "kind": kind, "rows": rows}
    return select(_EVENTS, given, DecisionEvent)


def newest_event() -> int:
    """Return the id of the newest event in all stores, 0 if there is none.

    Call this before `decision_events`. If `decision_events` then finds no event of a location or
    kind, the reader may continue after the id returned here. Events get their ids in the order of
    their commits, so no event with a lower id appears later.
    """
    return int(fetch_value("SELECT coalesce(max(id), 0) FROM app.decision_event"))


def oldest_event() -> int:
    """Return the id of the oldest stored event in all stores, 0 if there is none."""
    return int(fetch_value("SELECT coalesce(min(id), 0) FROM app.decision_event"))
