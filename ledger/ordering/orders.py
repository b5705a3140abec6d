"""Purchase orders: lines for one supplier and location, collected as drafts and sent together.

An order that this module opens has a row in `app.purchase_order`. Approvals and sending lock that
row. Lines that other systems or imports wrote have an `order_ref` without such a row. `send_order`
sends these lines in the same way.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from operator import attrgetter
from typing import Final
from uuid import UUID

from inventory.explain.formatting import money_text
from ledger.access.scope import require_key, require_store
from ledger.kernel import checks
from ledger.kernel.amounts import amount_text
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.last_change import LastChange
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import database_now, execute, fetch_column, fetch_value, log_action
from ledger.kernel.unscoped_rows import read_all, read_one
from ledger.messages import Message, joined
from ledger.nouns import counted
from ledger.ordering import status as orders_status
from ledger.ordering.lines import due_day_of
from ledger.ordering.order_line import OrderLine, locked_drafts
from ledger.ordering.supplier_terms import Terms, terms_of

MOST_NAMED: Final = 5
_DRAFT = """
SELECT order_ref FROM app.purchase_order
WHERE supplier = %s AND location = %s AND sent_at IS NULL FOR UPDATE
"""
_OPEN = """
INSERT INTO app.purchase_order (supplier, location, opened_by) VALUES (%s, %s, %s)
ON CONFLICT (supplier, location) WHERE sent_at IS NULL DO UPDATE SET supplier = excluded.supplier
RETURNING order_ref
"""
_OPEN_SENT = """
INSERT INTO app.purchase_order (supplier, location, opened_by, is_automatic, sent_at, sent_by)
VALUES (%s, %s, %s, true, clock_timestamp(), %s) RETURNING order_ref
"""
_OPEN_BY_PERSON = """
INSERT INTO app.purchase_order (supplier, location, opened_by, sent_at, sent_by)
VALUES (%s, %s, %s, clock_timestamp(), %s) RETURNING order_ref
"""


def draft_order(*, supplier: str, location: str, actor: str | None) -> str:
    """Return the `order_ref` of the draft order of a supplier and location; create one if missing.

    The order's row stays locked until the transaction ends. Sending takes the same lock, so a new
    line is part either of the order that is sent, or of the next order.
    """
    # An INSERT that finds a draft would still use up an order number, so a SELECT comes first.
    found = fetch_column(_DRAFT, supplier, location)
    return str(found[0] if found else fetch_value(_OPEN, supplier, location, actor))


def automatic_order(*, supplier: str, location: str) -> str:
    """Create an order that the rules send at once; return its `order_ref`."""
    return str(fetch_value(_OPEN_SENT, supplier, location, None, None))


def sent_order(*, supplier: str, location: str, actor: str | None) -> str:
    """Create an order that a person sends at once; return its `order_ref`.

    The order gets only lines that the person has seen. The draft of this supplier and location
    stays unchanged, because other people may have collected lines in it.
    """
    return str(fetch_value(_OPEN_BY_PERSON, supplier, location, actor, actor))


@dataclass(frozen=True, slots=True)
class OrderSent:
    """An order that was sent: the numbers of its lines and units, and its value at cost.

    The value is in minor units. A line without a known cost counts with value 0.
    """

    order_ref: str
    lines: int
    units: int
    value_minor: int


@dataclass(frozen=True, slots=True)
class _Sent:
    """The sender of an order and the time; both None for an order that was not sent."""

    sent_by: str | None
    sent_at: datetime | None


def send_order(
    *,
    order_ref: str,
    below_minimum_allowed: bool = False,
    shown_version: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> OrderSent:
    """Send every draft line of an order; return the numbers of lines and units, and the value.

    Set `ordered_at` of these lines to now. A line without a due day gets the day that follows from
    its lead time, unless the lead time is 0.

    Raises:
        ServiceError: no draft line, an inactive supplier, a due day that is past, or, unless
            `below_minimum_allowed`, a value below the supplier's minimum.
        Conflict: the order was sent already, or has changed since `shown_version`.
    """

    def work() -> OrderSent:
        lines, now = _sendable(order_ref, shown_version, allowed=below_minimum_allowed)
        _send(order_ref, lines, now, actor)
        sent = OrderSent(order_ref, len(lines), _units(lines), _value_minor(lines))
        log_action(
            actor=actor,
            action="send_order",
            subject=order_ref,
            detail={"order": order_ref, **asdict(sent)},
            command_id=command_id,
        )
        return sent

    return run_command(
        command_id, f"send_order {order_ref}", actor, work, OrderSent, content=below_minimum_allowed
    )


@dataclass(frozen=True, slots=True)
class ToSend:
    """A draft order that can be sent now. `value_minor` is its value at cost in minor units."""

    order_ref: str
    location: str
    supplier: str
    lines: int
    units: int
    value_minor: int


def check_order(*, order_ref: str, below_minimum_allowed: bool, shown_version: str) -> ToSend:
    """Return the draft order that `send_order` would send now: its lines, units and value.

    Write nothing. Raise the errors that `send_order` would raise. Call this inside
    `ledger_transaction`; the lines stay locked until the transaction ends.
    """
    lines, _now = _sendable(order_ref, shown_version, allowed=below_minimum_allowed)
    first = lines[0]
    return ToSend(
        order_ref,
        first.location,
        first.supplier,
        len(lines),
        _units(lines),
        _value_minor(lines),
    )


def _sendable(
    order_ref: str, shown_version: str | None, *, allowed: bool
) -> tuple[Sequence[OrderLine], datetime]:
    """Lock the draft lines of an order; return them and the database's time.

    Raise the error of `send_order` if the order can't be sent.
    """
    lines = _locked_drafts(order_ref, shown_version)
    _refuse_terms(order_ref, lines, allowed=allowed)
    now = database_now()
    _refuse_past_days(lines, now)
    return lines, now


def _locked_drafts(order_ref: str, shown_version: str | None) -> Sequence[OrderLine]:
    """Lock the row and the draft lines of an order; return the lines.

    Raise `Conflict` if the lines have changed since `shown_version`, or were sent already.
    """
    locations = fetch_column(
        "SELECT location FROM app.purchase_order WHERE order_ref = %s FOR UPDATE", order_ref
    )
    for location in locations:
        require_store(location, field="")
    lines = _drafts(order_ref)
    for line in lines:
        require_key(line.inv_key)
    _refuse_moved(order_ref, lines, shown_version)
    return lines


def _drafts(order_ref: str) -> Sequence[OrderLine]:
    lines = locked_drafts(order_ref)
    if lines:
        return lines
    sql = "SELECT sent_by, sent_at FROM app.purchase_order WHERE order_ref = %s"
    sent = read_one(_Sent, sql, order_ref)
    if sent is None or sent.sent_at is None:
        refuse("order_ref", order_ref, "no order with a draft line has this reference")
    who, at = person(sent.sent_by), moment_text(sent.sent_at)
    message = Message(
        "%(who)s has already sent %(order_ref)s, %(at)s", who=who, order_ref=order_ref, at=at
    )
    raise Conflict(message)


def _refuse_moved(order_ref: str, lines: Sequence[OrderLine], shown_version: str | None) -> None:
    if shown_version in (None, version_of_drafts([line.recorded_at for line in lines])):
        return
    last = _last_change(order_ref, lines)
    message = Message(
        "%(order_ref)s has changed since it was shown. Last change by %(author)s. "
        "It now has %(lines)s, %(units)s",
        order_ref=order_ref,
        author=last.author,
        lines=counted(len(lines), "draft line"),
        units=counted(_units(lines), "unit"),
    )
    raise Conflict(message)


def _last_change(order_ref: str, lines: Sequence[OrderLine]) -> LastChange:
    """Return the last change of an order's lines, from the rows and from the audit log.

    Only the audit log shows that a line was deleted. Only the rows show what another system wrote.
    """
    logged = read_all(
        LastChange,
        "SELECT at, actor FROM app.action_log WHERE detail ->> 'order' = %s"
        " ORDER BY id DESC LIMIT 1",
        order_ref,
    )
    rows = [LastChange(line.recorded_at, line.recorded_by) for line in lines]
    return max(rows + logged, key=attrgetter("at"))


def version_of_drafts(recorded_at: Sequence[datetime]) -> str:
    """Return a text that changes whenever a draft line is added, changed, sent or deleted.

    `recorded_at` has the time of the last write of each draft line.
    """
    newest = max((at.isoformat() for at in recorded_at), default="")
    return f"{len(recorded_at)}@{newest}"


def _refuse_terms(order_ref: str, lines: Sequence[OrderLine], *, allowed: bool) -> None:
    all_terms = terms_of({line.supplier for line in lines})
    for terms in all_terms.values():
        refuse_inactive(terms)
    least = max(terms.minimum_order_minor for terms in all_terms.values())
    value = _value_minor(lines)
    if value < least and not allowed:
        rule = Message(
            "%(order_ref)s is worth %(value)s, below the supplier's minimum of %(least)s. Order "
            "more, or tick the box that allows orders below the minimum",
            order_ref=order_ref,
            value=amount_text(value),
            least=amount_text(least),
        )
        refuse("order", money_text(value), rule)


def _refuse_past_days(lines: Sequence[OrderLine], now: datetime) -> None:
    """Raise `ServiceError` for drafts whose due day is past.

    The supplier can't deliver on such a day, and the line would be overdue at once. A person has to
    choose the new day.
    """
    past = [line for line in lines if checks.is_past(line.due_on, now)]
    if not past:
        return
    named = [
        Message("line %(id)s (%(sku)s, %(due_on)s)", id=line.id, sku=line.sku, due_on=line.due_on)
        for line in past[:MOST_NAMED]
    ]
    if past[MOST_NAMED:]:
        named.append(Message("%(past)s more", past=len(past) - MOST_NAMED))
    rule = Message(
        "not before %(now)s: choose a later day for these lines, or delete the lines: %(named)s",
        now=checks.day_of(now),
        named=joined(named),
    )
    refuse("due_on", past[0].due_on, rule)


def refuse_inactive(terms: Terms) -> None:
    """Raise `ServiceError` for an inactive supplier."""
    if not terms.is_active:
        refuse(
            "supplier",
            terms.code,
            "this supplier is not active: choose another one",
        )


def _units(lines: Sequence[OrderLine]) -> int:
    return sum(line.ordered_units for line in lines)


def _value_minor(lines: Sequence[OrderLine]) -> int:
    return sum(line.ordered_units * (line.cost_minor or 0) for line in lines)


def _send(order_ref: str, lines: Sequence[OrderLine], now: datetime, actor: str | None) -> None:
    for line in lines:
        _send_line(line, now, actor)
    execute(
        "UPDATE app.purchase_order SET sent_at = %s, sent_by = %s WHERE order_ref = %s",
        now,
        actor,
        order_ref,
    )


def _send_line(line: OrderLine, now: datetime, actor: str | None) -> None:
    status = orders_status.after(line.status, "send", line_id=line.id)
    execute(
        "UPDATE retail.purchase_order_line SET status = %s, ordered_at = %s, due_on = %s,"
        " recorded_by = %s WHERE id = %s",
        status,
        now,
        line.due_on or due_day_of(line, now),
        actor,
        line.id,
    )
