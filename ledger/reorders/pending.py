"""Sends that a person can undo: "approve and send" takes effect ten seconds later.

`send_needs` and `send_orders` make the same checks as the execution. They write one row of
`app.pending_send`, and one row of `app.pending_item` for each need or draft order that can be
sent. They write no decision and no order line. The automation executes the send after its deadline
(`ledger.automation.sends`), so no page has to stay open. Until the execution, `cancel_send` can
release all these needs or orders.

A unique index allows each need or order in at most one waiting send. A transaction first locks the
row of the send, then the rows that `ledger.reorders.approval` locks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from ledger.access.scope import OutOfScope, require_store
from ledger.kernel.errors import Conflict, LedgerError, ServiceError, refuse
from ledger.kernel.idempotency import Done, ResultDocument, run_command, run_idempotent
from ledger.kernel.proposal_rows import REORDERS
from ledger.kernel.proposals import last_decision
from ledger.kernel.refusal_text import moment_text, person, refusal_message
from ledger.kernel.transactions import execute, fetch_value, log_actions
from ledger.kernel.unscoped_rows import read_all, read_one
from ledger.messages import Message, gettext_noop
from ledger.ordering.orders import ToSend, check_order
from ledger.reorders.approval import check_all
from ledger.reorders.approvals import (
    Approver,
    ApproveReorder,
    NotOrdered,
    OrderedBefore,
    ToOrder,
    ordered_text,
)

DELAY_S: Final = 10
MOST_ORDERS: Final = 200
NEED, ORDER = "need", "order"


@dataclass(frozen=True, slots=True)
class DraftOrder:
    """A draft order to send; the person saw its version `shown_version`."""

    order_ref: str
    shown_version: str


@dataclass(frozen=True, slots=True)
class Announced:
    """A send that waits: its id, its number of needs or orders, and those that were refused.

    `send_id` is None if all were refused. `reorder_id` of a refused order is its `order_ref`.
    """

    send_id: int | None
    items: int
    refused: tuple[NotOrdered, ...]


@dataclass(frozen=True, slots=True)
class _Item:
    kind: str
    subject: str
    location: str
    supplier: str
    shown: str
    units: int
    value_minor: int


@dataclass(frozen=True, slots=True)
class _Other:
    """A need or order that is in a waiting send already, and the person who made that send."""

    subject: str
    made_by: str | None


@dataclass(frozen=True, slots=True)
class _Send:
    status: str
    made_by: str | None
    ended_by: str | None
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Located:
    subject: str
    location: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The number of needs or orders that a cancelled send has released."""

    items: int


def send_needs(
    needs: Sequence[ApproveReorder],
    *,
    odd_units_allowed: bool = False,
    below_minimum_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Announced:
    """Store a request to approve and send needs in ten seconds, at the revisions that were shown.

    A need that can't be ordered is refused with its reason and doesn't stop the others. The needs
    of one supplier and location become a new order; an existing draft order stays unchanged. Raise
    `ServiceError` unless there are 1 to 500 needs.
    """
    approver = Approver(
        actor, odd_units_allowed, sends=True, below_minimum_allowed=below_minimum_allowed
    )

    def work() -> ResultDocument:
        found = zip(needs, check_all(needs, approver), strict=True)
        items: list[_Item] = []
        refused: list[NotOrdered] = []
        for need, one in found:
            if isinstance(one, ToOrder):
                shown, worth = str(need.shown_revision), one.value_minor
                group = (one.location, one.supplier)
                items.append(_Item(NEED, one.reorder_id, *group, shown, one.units, worth))
            else:
                refused.append(NotOrdered(need.reorder_id, _why_not(one)))
        return _announce(items, refused, approver)

    content = ([*needs], below_minimum_allowed)
    return _announced(run_idempotent(command_id, "send_needs", actor, work, content=content))


def send_orders(
    orders: Sequence[DraftOrder],
    *,
    below_minimum_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Announced:
    """Store a request to send draft orders in ten seconds, each as it was shown.

    An order that can't be sent is refused with its reason and doesn't stop the others. Raise
    `ServiceError` unless there are 1 to 200 orders.
    """
    if not 1 <= len(orders) <= MOST_ORDERS:
        refuse(
            "orders",
            len(orders),
            Message("1 to %(most_orders)s orders at once", most_orders=MOST_ORDERS),
        )
    approver = Approver(actor, sends=True, below_minimum_allowed=below_minimum_allowed)

    def work() -> ResultDocument:
        items: list[_Item] = []
        refused: list[NotOrdered] = []
        for order in {order.order_ref: order for order in orders}.values():
            one = _checked(order, allowed=below_minimum_allowed)
            if isinstance(one, ToSend):
                items.append(_order_item(one, order))
            else:
                refused.append(one)
        return _announce(items, refused, approver)

    content = ([order.order_ref for order in orders], below_minimum_allowed)
    return _announced(run_idempotent(command_id, "send_orders", actor, work, content=content))


def send_one_order(
    order: DraftOrder,
    *,
    below_minimum_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Announced:
    """Store a request to send a draft order in ten seconds; raise the errors of `send_order`."""
    approver = Approver(actor, sends=True, below_minimum_allowed=below_minimum_allowed)

    def work() -> ResultDocument:
        one = check_order(**asdict(order), below_minimum_allowed=below_minimum_allowed)
        document = _announce([_order_item(one, order)], [], approver)
        if document["refused"]:
            raise Conflict(document["refused"][0][1])
        return document

    content = (order.order_ref, below_minimum_allowed)
    return _announced(run_idempotent(command_id, "send_one_order", actor, work, content=content))


def _order_item(one: ToSend, order: DraftOrder) -> _Item:
    group, shown = (one.location, one.supplier), order.shown_version
    return _Item(ORDER, one.order_ref, *group, shown, one.units, one.value_minor)


def _checked(order: DraftOrder, *, allowed: bool) -> ToSend | NotOrdered:
    try:
        return check_order(**asdict(order), below_minimum_allowed=allowed)
    except LedgerError as refusal:
        return NotOrdered(order.order_ref, refusal_reason(refusal))
    except OutOfScope:  # treat another store's order as unknown
        return NotOrdered(order.order_ref, gettext_noop("No such order"))


def refusal_reason(refusal: LedgerError) -> str:
    """Return the reason of a refusal as text for people."""
    match refusal:
        case Conflict():
            return refusal.what_changed
        case ServiceError():
            return refusal_message(refusal)
        case _:
            return str(refusal)


def ordered_before(outcome: OrderedBefore) -> str:
    """Return a message with the person who ordered this need, the units, the order and the time."""
    who, at = last_decision(REORDERS, outcome.reorder_id)
    return ordered_text(who=who, units=outcome.units, order_ref=outcome.order_ref, at=at)


def _why_not(outcome: OrderedBefore | LedgerError) -> str:
    if isinstance(outcome, OrderedBefore):
        return ordered_before(outcome)
    return refusal_reason(outcome)


def _announce(
    items: Sequence[_Item], refused: list[NotOrdered], approver: Approver
) -> ResultDocument:
    taken = _taken(items)
    free = [item for item in items if item.subject not in taken]
    refused = refused + [
        NotOrdered(subject, Message("%(by)s is already sending this need or order", by=person(by)))
        for subject, by in taken.items()
    ]
    send_id = _write(sorted(free, key=_by_order), approver) if free else None
    return {
        "send_id": send_id,
        "items": len(free),
        "refused": [[one.reorder_id, one.reason] for one in refused],
    }


def _taken(items: Sequence[_Item]) -> dict[str, str | None]:
    """Return {need or order in another waiting send: the person who made that send}.

    The caller has locked these needs or orders, so no other send can add one of them meanwhile.
    """
    found = read_all(
        _Other,
        "SELECT i.subject, s.made_by FROM app.pending_item i"
        " JOIN app.pending_send s ON s.id = i.send_id"
        " WHERE i.is_waiting AND i.subject = ANY(%s) AND i.kind = ANY(%s)",
        [item.subject for item in items],
        sorted({item.kind for item in items}),
    )
    return {other.subject: other.made_by for other in found}


def _by_order(item: _Item) -> tuple[str, str, str]:
    """Return a sort key: orders are locked as approvals lock them, which prevents deadlocks."""
    return item.supplier, item.location, item.subject


def _write(items: Sequence[_Item], approver: Approver) -> int:
    send_id = int(
        fetch_value(
            "INSERT INTO app.pending_send"
            " (made_by, due_at, odd_units_allowed, below_minimum_allowed)"
            " VALUES (%s, clock_timestamp() + make_interval(secs => %s), %s, %s) RETURNING id",
            approver.actor,
            DELAY_S,
            approver.odd_units_allowed,
            approver.below_minimum_allowed,
        )
    )
    columns = list(asdict(items[0]))
    execute(
        f"INSERT INTO app.pending_item (send_id, place, {', '.join(columns)})"  # noqa: S608 -- names of the fields above
        f" SELECT %s, * FROM unnest(%s::int[], %s::text[], %s::text[], %s::text[], %s::text[],"
        " %s::text[], %s::bigint[], %s::bigint[])",
        send_id,
        list(range(len(items))),
        *([getattr(item, name) for item in items] for name in columns),
    )
    _log("announce_send", approver.actor, send_id, [item.subject for item in items])
    return send_id


def _log(action: str, actor: str | None, send_id: int, subjects: Sequence[str]) -> None:
    detail: Mapping[str, object] = {"send": send_id}
    log_actions(actor=actor, entries=[(action, subject, detail) for subject in subjects])


def _announced(document: ResultDocument) -> Announced:
    refused = tuple(NotOrdered(subject, reason) for subject, reason in document["refused"])
    return Announced(document["send_id"], document["items"], refused)


def cancel_send(
    *, send_id: int, actor: str | None = None, command_id: UUID | None = None
) -> Cancelled:
    """Cancel a waiting send; return the number of its needs or orders. Nothing is ordered or sent.

    A send can be cancelled even after its deadline, if the automation has not executed it yet.
    Raise `Conflict` for a send that has ended, `ServiceError` for an unknown send.
    """

    def work() -> Cancelled:
        send, items = _locked(send_id)
        _refuse_ended(send)
        end_send(send_id, "cancelled", actor)
        _log("cancel_send", actor, send_id, [item.subject for item in items])
        return Cancelled(len(items))

    return run_command(
        command_id, f"cancel_send {send_id}", actor, work, Cancelled, content=send_id
    )


def acknowledge_send(
    *, send_id: int, actor: str | None = None, command_id: UUID | None = None
) -> None:
    """Record that the person has read how their send ended, so that pages no longer show it.

    Raise `ServiceError` for an unknown send, or for the send of another person. Raise `Conflict`
    for a send that still waits.
    """

    def work() -> Done:
        send, _items = _locked(send_id)
        if send.made_by != actor:
            refuse("send", send_id, "no such send")
        if send.status == "waiting":
            message = gettext_noop(
                "This send is still waiting: undo it, or wait until it has ended"
            )
            raise Conflict(message)
        execute(
            "UPDATE app.pending_send SET seen_at = coalesce(seen_at, clock_timestamp())"
            " WHERE id = %s",
            send_id,
        )
        return Done()

    run_command(command_id, f"acknowledge_send {send_id}", actor, work, Done, content=send_id)


def _locked(send_id: int) -> tuple[_Send, Sequence[_Located]]:
    send = read_one(
        _Send,
        "SELECT status, made_by, ended_by, ended_at FROM app.pending_send WHERE id = %s FOR UPDATE",
        send_id,
    )
    if send is None:
        refuse("send", send_id, "no such send")
    sql = "SELECT subject, location FROM app.pending_item WHERE send_id = %s ORDER BY place"
    items = read_all(_Located, sql, send_id)
    for item in items:
        require_store(item.location, field="")
    return send, items


def _refuse_ended(send: _Send) -> None:
    if send.status == "waiting":
        return
    at = "" if send.ended_at is None else f", {moment_text(send.ended_at)}"
    messages = {
        "sent": Message(
            "It is too late to undo: the orders were sent%(at)s. Cancel their lines on the "
            "page “Orders”",
            at=at,
        ),
        "cancelled": Message(
            "%(ended_by)s has already undone this send%(at)s", ended_by=person(send.ended_by), at=at
        ),
        "lapsed": Message(
            "The automation did not run in time: these orders were not sent%(at)s, and there is"
            " nothing to undo",
            at=at,
        ),
    }
    raise Conflict(messages[send.status])


def end_send(send_id: int, status: str, actor: str | None) -> None:
    """Set the final status of a locked send, and release its needs or orders."""
    execute(
        "UPDATE app.pending_send SET status = %s, ended_at = clock_timestamp(), ended_by = %s"
        " WHERE id = %s",
        status,
        actor,
        send_id,
    )
    execute("UPDATE app.pending_item SET is_waiting = false WHERE send_id = %s", send_id)
