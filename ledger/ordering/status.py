"""The states of an order line as one pure table: allowed actions and the status that follows.

draft → sent → confirmed → closed. A pair that is not in the table is refused with a reason. Goods
on the dock are facts, so a closed line can still be received; a draft cannot. A receipt that is
corrected downwards opens its line again.
"""

from collections.abc import Mapping
from datetime import date, datetime, timedelta
from types import MappingProxyType
from typing import Final, Literal

from ledger.kernel.errors import Conflict

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
# Status after the action while units are open; "gone" means that the row is deleted.
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
        "draft": "is a draft: nothing was ordered yet; it can be changed, deleted, dated and sent",
        "sent": "was sent: the supplier has it; it can be confirmed, dated, received, cancelled",
        "confirmed": "is confirmed: it can be confirmed again, dated, received, cancelled",
        "closed": "is closed: nothing is open on it",
    }
)
DAY: Final = timedelta(days=1)
CENTIDAYS_A_DAY: Final = 100
WEEK: Final = 7


def after(status: Status, action: Action, *, line_id: int) -> Status | Literal["gone"]:
    """Return the status after `action`; raise `Conflict` if the status does not allow it."""
    found = ALLOWED.get((status, action))
    if found is None:
        message = f"order line {line_id} {WHY_NOT[status]} (asked to {action.replace('_', '-')} it)"
        raise Conflict(message)
    return found


def settled(status: Status, *, open_units: int, is_confirmed: bool) -> Status:
    """Return the status for these open units: closed at 0, otherwise sent or confirmed."""
    if status == "draft":
        return status
    if open_units == 0:
        return "closed"
    return "confirmed" if is_confirmed or status == "confirmed" else "sent"


def open_units(
    *, ordered: int, confirmed: int | None, cancelled: int, received_for_order: int
) -> int:
    """Return the units of a line that are neither cancelled nor received, at least 0."""
    promised = ordered if confirmed is None else confirmed
    return max(0, promised - cancelled - received_for_order)


def order_day(wanted: date, order_days_mask: int) -> date:
    """Return the first day from `wanted` on that the supplier takes orders; Monday is bit 0."""
    for ahead in range(WEEK):
        candidate = wanted + ahead * DAY
        if order_days_mask >> candidate.weekday() & 1:
            return candidate
    return wanted


def due_day(ordered_at: datetime, *, lead_time_centidays: int, order_days_mask: int) -> date | None:
    """Return the UTC day on which goods ordered at `ordered_at` are due; None without a lead time.

    The lead time counts from the order, or from the start of the supplier's next order day.
    """
    if lead_time_centidays == 0:
        return None
    day = order_day(ordered_at.date(), order_days_mask)
    start = ordered_at
    if day != ordered_at.date():
        start = datetime(day.year, day.month, day.day, tzinfo=ordered_at.tzinfo)
    return (start + DAY * lead_time_centidays // CENTIDAYS_A_DAY).date()


def is_overdue(due_on: date | None, *, today: date, units: int) -> bool:
    """Return True if units are open and the due day is over."""
    return due_on is not None and units > 0 and today >= due_on + DAY
