"""The statuses of an order line and the actions that each allows, without database access.

The statuses are draft → sent → confirmed → closed. A closed line can still be received, because
goods that have arrived are a fact. A draft can't be received, because nothing was ordered. If a
receipt is corrected to fewer units, its closed line may be open again (`status_after`).
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal

from ledger.kernel.errors import Conflict
from ledger.messages import Message, gettext_noop

Status = Literal["draft", "sent", "confirmed", "closed"]
Action = Literal[
    "change", "delete", "send", "confirm", "ship", "receive", "cancel", "re_date", "restore"
]

STATUSES: Final[tuple[Status, ...]] = ("draft", "sent", "confirmed", "closed")
ACTIONS: Final[tuple[Action, ...]] = (
    "change",
    "delete",
    "send",
    "confirm",
    "ship",
    "receive",
    "cancel",
    "re_date",
    "restore",
)
# The actions that each status allows, with the status after the action; "gone" means that the row
# is deleted. If an action changes the open units, `status_after` decides the final status.
ALLOWED: Final[Mapping[tuple[Status, Action], Status | Literal["gone"]]] = MappingProxyType(
    {
        ("draft", "change"): "draft",
        ("draft", "delete"): "gone",
        ("draft", "send"): "sent",
        ("draft", "re_date"): "draft",
        ("sent", "confirm"): "confirmed",
        ("sent", "ship"): "sent",
        ("sent", "receive"): "sent",
        ("sent", "cancel"): "closed",
        ("sent", "re_date"): "sent",
        ("confirmed", "confirm"): "confirmed",
        ("confirmed", "ship"): "confirmed",
        ("confirmed", "receive"): "confirmed",
        ("confirmed", "cancel"): "closed",
        ("confirmed", "re_date"): "confirmed",
        ("closed", "receive"): "closed",
        ("closed", "restore"): "sent",
    }
)
WHY_NOT: Final[Mapping[Status, str]] = MappingProxyType(
    {
        "draft": gettext_noop(
            "is a draft that was not ordered yet; change, send or delete it instead"
        ),
        "sent": gettext_noop(
            "was sent to the supplier; confirm, receive or cancel it, or move its due day"
        ),
        "confirmed": gettext_noop(
            "is confirmed; confirm a different number of units, receive or cancel it, or move its "
            "due day"
        ),
        "closed": gettext_noop(
            "is closed and has no open units; the purchasing lead can order cancelled units again"
        ),
    }
)
# Participles for "order line 7 can't be …".
_DONE: Final[Mapping[Action, str]] = MappingProxyType(
    {
        "change": gettext_noop("changed"),
        "delete": gettext_noop("deleted"),
        "send": gettext_noop("sent"),
        "confirm": gettext_noop("confirmed"),
        "ship": gettext_noop("shipped"),
        "receive": gettext_noop("received"),
        "cancel": gettext_noop("cancelled"),
        "re_date": gettext_noop("given another due day"),
        "restore": gettext_noop("opened again"),
    }
)
DAY: Final = timedelta(days=1)
CENTIDAYS_A_DAY: Final = 100
WEEK: Final = 7


def after(status: Status, action: Action, *, line_id: int) -> Status | Literal["gone"]:
    """Return the status after `action` by the mapping `ALLOWED`; "gone" if the line is deleted.

    Raise `Conflict` if the line's present `status` forbids the action.
    """
    found = ALLOWED.get((status, action))
    if found is None:
        message = Message(
            "order line %(line_id)s can't be %(done)s: it %(why_not)s",
            line_id=line_id,
            done=Message(_DONE[action]),
            why_not=Message(WHY_NOT[status]),
        )
        raise Conflict(message)
    return found


def status_after(status: Status, *, open_units: int, is_confirmed: bool) -> Status:
    """Return the status of a line after a change that left it with these open units.

    A draft stays a draft, even with 0 open units. Any other line with 0 open units is closed. A
    line with open units is confirmed if it has confirmed units (`is_confirmed`) or if `status` is
    confirmed. Otherwise it is sent.
    """
    if status == "draft":
        return status
    if open_units == 0:
        return "closed"
    return "confirmed" if is_confirmed or status == "confirmed" else "sent"


def open_units(
    *, ordered: int, confirmed: int | None, cancelled: int, received_for_order: int
) -> int:
    """Return the open units of a line: max(0, expected - `cancelled` - `received_for_order`).

    The expected units are the confirmed units or, if none are confirmed, the ordered units.
    """
    promised = ordered if confirmed is None else confirmed
    return max(0, promised - cancelled - received_for_order)


def order_day(wanted: date, order_days_mask: int) -> date:
    """Return the first day from `wanted` on (inclusive) on which the supplier takes orders.

    Bit 0 of the mask is Monday. With mask 0, return `wanted`.
    """
    for ahead in range(WEEK):
        candidate = wanted + ahead * DAY
        if order_days_mask >> candidate.weekday() & 1:
            return candidate
    return wanted


def due_day(ordered_at: datetime, *, lead_time_centidays: int, order_days_mask: int) -> date | None:
    """Return the UTC day on which goods ordered at `ordered_at` are due; None if lead time is 0.

    The lead time is in hundredths of days. It counts from `ordered_at` if the supplier takes orders
    on that day. Otherwise it counts from 00:00 UTC of the supplier's next order day.
    """
    if lead_time_centidays == 0:
        return None
    day = order_day(ordered_at.date(), order_days_mask)
    start = ordered_at
    if day != ordered_at.date():
        start = datetime(day.year, day.month, day.day, tzinfo=ordered_at.tzinfo)
    return (start + DAY * lead_time_centidays // CENTIDAYS_A_DAY).date()


def is_overdue(due_on: date | None, *, today: date, units: int) -> bool:
    """Return True if units are open and `today` is after the due day."""
    return due_on is not None and units > 0 and today > due_on
