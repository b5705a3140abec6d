"""Execute each send ten seconds after a person requested it (decision 0045).

One transaction executes a send: it orders the needs, sends the orders, writes the outcome of each
item and ends the send. A crash rolls the transaction back, and the next round executes the send.
Two processes may run this job at once, because each skips sends that the other has locked.

A send lapses if the job finds it more than 15 minutes after its deadline. Nothing is sent then,
because the person who pressed the button no longer expects it. The job refuses items of a store for
which the person may not send orders any more.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import groupby
from operator import attrgetter
from typing import Final

import structlog
from django.contrib.auth import get_user_model

from ledger.access.roles import ORDERING
from ledger.access.scope import EVERYWHERE, NOWHERE, Scope, grants_of
from ledger.kernel.errors import LedgerError
from ledger.kernel.transactions import execute, fetch_column, ledger_transaction
from ledger.kernel.unscoped_rows import read_all, read_one
from ledger.messages import Message, gettext_noop
from ledger.ordering.orders import send_order
from ledger.reorders.approvals import Approver, ApproveReorder, NotOrdered, Ordered, OrderedBefore
from ledger.reorders.pending import NEED, end_send, ordered_before, refusal_reason
from ledger.reorders.service import approve_and_send

MOST_A_CALL: Final = 20
LAPSES_AFTER: Final = timedelta(minutes=15)
TOO_LATE: Final = gettext_noop(
    "The automation did not run for 15 minutes, so nothing was sent. Send it again"
)
NOT_ALLOWED: Final = gettext_noop(
    "%(person)s may not send orders for %(location)s any more, so nothing was sent"
)

log = structlog.get_logger(__name__)

_DUE: Final = """
SELECT id FROM app.pending_send WHERE status = 'waiting' AND due_at <= clock_timestamp()
ORDER BY due_at LIMIT %s
"""
_LOCKED: Final = """
SELECT id, made_by, odd_units_allowed, below_minimum_allowed,
       due_at < clock_timestamp() - %s::interval AS is_too_late
FROM app.pending_send
WHERE id = %s AND status = 'waiting' AND due_at <= clock_timestamp() FOR UPDATE SKIP LOCKED
"""
_ITEMS: Final = """
SELECT place, kind, subject, location, shown, units FROM app.pending_item WHERE send_id = %s
ORDER BY place
"""


@dataclass(frozen=True, slots=True)
class _Send:
    """The locked row of a send that is due."""

    id: int
    made_by: str | None
    odd_units_allowed: bool
    below_minimum_allowed: bool
    is_too_late: bool


@dataclass(frozen=True, slots=True)
class _Item:
    """A need or a draft order of a send, and its units.

    `shown` is the revision of the need, or the version of the order, that the page showed.
    """

    place: int
    kind: str
    subject: str
    location: str
    shown: str
    units: int


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The reference of the order that was sent for an item, or the reason why no order was sent."""

    place: int
    order_ref: str | None
    refused: str | None


def send_due(*, limit: int = MOST_A_CALL) -> int:
    """Execute up to `limit` sends whose deadline has passed; return how many have ended."""
    return sum(_execute(int(send_id)) for send_id in fetch_column(_DUE, limit))


def _execute(send_id: int) -> int:
    with ledger_transaction():
        send = read_one(_Send, _LOCKED, LAPSES_AFTER, send_id)
        if send is None:  # a person has cancelled it, or another process executes it
            return 0
        items = read_all(_Item, _ITEMS, send_id)
        outcomes = _lapsed(items) if send.is_too_late else _outcomes(send, items)
        _write(send_id, outcomes)
        end_send(send_id, "lapsed" if send.is_too_late else "sent", send.made_by)
    refused = [outcome.refused for outcome in outcomes if outcome.refused]
    log.info("send_ended", send=send_id, items=len(items), refused=refused)
    return 1


def _lapsed(items: Sequence[_Item]) -> list[_Outcome]:
    return [_Outcome(item.place, None, TOO_LATE) for item in items]


def _outcomes(send: _Send, items: Sequence[_Item]) -> list[_Outcome]:
    scope = _scope(send.made_by)
    found = [
        _Outcome(
            item.place, None, Message(NOT_ALLOWED, person=send.made_by, location=item.location)
        )
        for item in items
        if not scope.allows(item.location)
    ]
    allowed = [item for item in items if scope.allows(item.location)]
    for kind, members in groupby(allowed, key=attrgetter("kind")):
        execute_kind = _needs if kind == NEED else _orders
        found += execute_kind(send, list(members))
    return found


def _scope(made_by: str | None) -> Scope:
    """Return the stores for which the person `made_by` may send orders now; all stores if None."""
    if made_by is None:
        return EVERYWHERE
    person = get_user_model().objects.filter(username=made_by).first()
    if person is None or not (person.is_superuser or grants_of(person).roles & ORDERING):
        return NOWHERE
    return grants_of(person).scope


def _needs(send: _Send, items: Sequence[_Item]) -> list[_Outcome]:
    """Order the needs and send the orders. A refused need doesn't stop the others."""
    approver = Approver(
        send.made_by,
        send.odd_units_allowed,
        sends=True,
        below_minimum_allowed=send.below_minimum_allowed,
    )
    commands = [ApproveReorder(item.subject, int(item.shown), item.units) for item in items]
    try:
        with ledger_transaction():
            done = approve_and_send(commands, approver)
    except LedgerError as refusal:  # the rows violate a database constraint that no check covers
        return [_Outcome(item.place, None, refusal_reason(refusal)) for item in items]
    return [_need_outcome(item.place, outcome) for item, outcome in zip(items, done, strict=True)]


def _need_outcome(place: int, outcome: Ordered | OrderedBefore | NotOrdered) -> _Outcome:
    match outcome:
        case Ordered():
            return _Outcome(place, outcome.order_ref, None)
        case OrderedBefore():
            return _Outcome(place, None, ordered_before(outcome))
        case NotOrdered():
            return _Outcome(place, None, outcome.reason)


def _orders(send: _Send, items: Sequence[_Item]) -> list[_Outcome]:
    return [_order_outcome(send, item) for item in items]


def _order_outcome(send: _Send, item: _Item) -> _Outcome:
    try:
        sent = send_order(
            order_ref=item.subject,
            below_minimum_allowed=send.below_minimum_allowed,
            shown_version=item.shown,
            actor=send.made_by,
        )
    except LedgerError as refusal:
        return _Outcome(item.place, None, refusal_reason(refusal))
    return _Outcome(item.place, sent.order_ref, None)


def _write(send_id: int, outcomes: Sequence[_Outcome]) -> None:
    execute(
        "UPDATE app.pending_item i SET order_ref = done.order_ref, refused = done.refused"
        " FROM unnest(%s::int[], %s::text[], %s::text[]) AS done (place, order_ref, refused)"
        " WHERE i.send_id = %s AND i.place = done.place",
        [outcome.place for outcome in outcomes],
        [outcome.order_ref for outcome in outcomes],
        [outcome.refused for outcome in outcomes],
        send_id,
    )
