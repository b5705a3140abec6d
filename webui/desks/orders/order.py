"""One purchase order: its recipient, its terms, and its history of actions."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from django.utils.translation import gettext

from ledger.kernel.amounts import amount_text
from ledger.kernel.rows import select, select_one
from ledger.messages import gettext_noop

# The texts of an order's history, by action in the audit log.
_ACTION_TEXTS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "order": "ordered",
        "change_order": gettext_noop("changed the units"),
        "send_order": gettext_noop("sent the order"),
        "confirm_order": gettext_noop("recorded the confirmation"),
        "ship_order": gettext_noop("announced goods"),
        "re_date_order": gettext_noop("moved the due day"),
        "cancel_order": gettext_noop("cancelled the rest"),
        "restore_order": gettext_noop("ordered the cancelled units again"),
        "delete_order": gettext_noop("deleted the line"),
        "receive": gettext_noop("received"),
        "correct_receipt": gettext_noop("corrected a receipt"),
    }
)


@dataclass(frozen=True, slots=True)
class Header:
    """Supplier, destination and terms of an order.

    `order_days_mask` has bit 0 for Monday to bit 6 for Sunday. `is_sending` is True while a send of
    the order waits.
    """

    order_ref: str
    supplier: str
    supplier_name: str
    supplier_email: str
    supplier_address: str
    supplier_active: bool
    minimum_order_minor: int
    order_days_mask: int
    lead_time_centidays: int
    location: str
    location_name: str
    location_address: str
    is_automatic: bool
    sent_at: datetime | None
    sent_by: str | None
    is_sending: bool


def header(order_ref: str) -> Header | None:
    """Return the header of an order, or None if the order has no line."""
    return select_one(
        """SELECT l.order_ref, l.supplier, coalesce(su.name, l.supplier) AS supplier_name,
                  coalesce(su.email, '') AS supplier_email,
                  coalesce(su.address, '') AS supplier_address,
                  coalesce(su.is_active, true) AS supplier_active,
                  coalesce(su.minimum_order_minor, 0) AS minimum_order_minor,
                  coalesce(su.order_days_mask, 127) AS order_days_mask,
                  coalesce(su.lead_time_centidays, 0) AS lead_time_centidays,
                  l.location, coalesce(lo.name, l.location) AS location_name,
                  coalesce(lo.address, '') AS location_address,
                  coalesce(o.is_automatic, false) AS is_automatic, o.sent_at, o.sent_by,
                  EXISTS (SELECT FROM app.pending_item i WHERE i.kind = 'order'
                      AND i.subject = l.order_ref AND i.is_waiting) AS is_sending
           FROM retail.purchase_order_line l
           LEFT JOIN retail.supplier su ON su.code = l.supplier
           LEFT JOIN retail.location lo ON lo.code = l.location
           LEFT JOIN app.purchase_order o ON o.order_ref = l.order_ref
           WHERE l.order_ref = %(ref)s ORDER BY l.id LIMIT 1""",
        {"ref": order_ref},
        Header,
    )


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """One entry of an order's history."""

    at: datetime
    actor: str | None
    action: str
    subject: str
    detail: Any

    @property
    def action_text(self) -> str:
        """The action in words, for a sentence that begins with the actor: `sent the order`."""
        return gettext(_ACTION_TEXTS.get(self.action, self.action.replace("_", " ")))

    @property
    def numbers_text(self) -> str:
        """The numbers of the entry in one line: `units 12, value €30.00`."""
        left_out = {"order", "lines"} if self.action == "send_order" else {"order"}
        shown = {n: v for n, v in self.detail.items() if v is not None and n not in left_out}
        return ", ".join(_number_text(name, value) for name, value in shown.items())


def _number_text(name: str, value: object) -> str:
    """Return an entry's number or its change: `units 12`, `value €30.00`, `received 5 to 7`."""
    words = gettext(name.removesuffix("_minor").replace("_", " "))
    match value:
        case [before, after]:
            change = gettext("%(before)s to %(after)s") % {"before": before, "after": after}
            return f"{words} {change}"
        case int() if name.endswith("_minor"):
            return f"{words} {amount_text(value)}"
        case _:
            return f"{words} {value}"


def history(order_ref: str) -> list[HistoryEntry]:
    """Return the newest 100 actions on an order and its lines, newest first."""
    return select(
        """SELECT at, actor, action, subject, detail FROM app.action_log
           WHERE detail ->> 'order' = %(ref)s ORDER BY id DESC LIMIT 100""",
        {"ref": order_ref},
        HistoryEntry,
    )
