"""The notice about sends: waiting sends, which can be undone, and outcomes of ended sends."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID, uuid4, uuid5

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_POST

from ledger.kernel.rows import select
from ledger.messages import gettext_noop
from ledger.services import ServiceError, acknowledge_send, cancel_send
from webui.accounts.roles import MANAGE_ORDERS, requires
from webui.desks.sends.forms import SendActionForm
from webui.readmodel.figures import counted_text
from webui.shell.commands import run_command
from webui.shell.page import render_page

_SENDS: Final = """
SELECT s.id, s.made_by, s.status,
       (greatest(0, extract(epoch FROM s.due_at - clock_timestamp())) * 1000)::bigint AS left_ms,
       (greatest(0, extract(epoch FROM clock_timestamp() - s.due_at)) * 1000)::bigint AS late_ms,
       min(i.kind) AS kind,
       count(*) FILTER (WHERE i.refused IS NULL) AS items,
       count(DISTINCT (i.supplier, i.location)) FILTER (WHERE i.refused IS NULL) AS orders,
       coalesce(sum(i.value_minor) FILTER (WHERE i.refused IS NULL), 0)::bigint AS value_minor,
       coalesce(array_agg(DISTINCT i.order_ref) FILTER (WHERE i.order_ref IS NOT NULL), '{}')
           AS refs,
       coalesce(array_agg(DISTINCT i.subject) FILTER (WHERE i.kind = 'order'), '{}') AS picked,
       coalesce(jsonb_agg(jsonb_build_object('subject', i.subject, 'reason', i.refused,
           'is_open', i.kind = 'order' OR coalesce(r.status = 'open'
               AND coalesce(r.decided_action, '') NOT IN ('approve', 'reject'), false),
           'product', coalesce(p.name, r.sku), 'location', coalesce(lo.name, r.location)))
           FILTER (WHERE i.refused IS NOT NULL), '[]') AS refused
FROM app.pending_send s JOIN app.pending_item i ON i.send_id = s.id
LEFT JOIN app.reorder_proposal r ON i.kind = 'need' AND r.reorder_id = i.subject
LEFT JOIN retail.product p ON p.code = r.sku
LEFT JOIN retail.location lo ON lo.code = r.location
WHERE s.status = 'waiting' OR (s.status <> 'cancelled' AND s.made_by = %(person)s
    AND s.seen_at IS NULL AND s.ended_at > clock_timestamp() - interval '1 day')
GROUP BY s.id, s.made_by, s.status, s.due_at ORDER BY s.id DESC LIMIT 5
"""


@dataclass(frozen=True, slots=True)
class Send:
    """A send (request to order needs or to send orders), which waits ten seconds or has ended.

    `kind` is `need` or `order`. `refs` are the orders that were sent, and `picked` the draft orders
    that the person picked. `left_ms` is the time until the deadline, and `late_ms` the time since
    the deadline. `refused` has one dict per item that was not sent, with the keys subject, reason,
    product, location and is_open. For an order, product and location are None. `is_open` is False
    for a need that is answered or closed.
    """

    id: int
    made_by: str | None
    status: str
    left_ms: int
    late_ms: int
    kind: str
    items: int
    orders: int
    value_minor: int
    refs: list[str]
    picked: list[str]
    refused: list[dict[str, Any]]

    @property
    def of_orders(self) -> set[str]:
        """The references of the picked draft orders, and of the orders that were sent."""
        return {*self.refs, *self.picked}

    @property
    def is_late(self) -> bool:
        """True if the deadline passed more than 5 s ago. A waiting send is then overdue."""
        return self.late_ms > _LATE_MS

    @property
    def left(self) -> list[dict[str, Any]]:
        """The items that were not sent and that still wait for a person. Each has a `name`."""
        return [_named(one) for one in self.refused if one["is_open"]]

    @property
    def settled(self) -> list[dict[str, Any]]:
        """The needs that weren't ordered, because they were answered or closed before."""
        return [_named(one) for one in self.refused if not one["is_open"]]

    @property
    def kind_of_notice(self) -> str:
        """The CSS class of the notice.

        A waiting send has `warning`. A send without a sent item has `error` if it lapsed (the
        automation didn't run in time) or has items `left`. Any other send has `warning` if it has
        items `left`, else `success`.
        """
        if self.status == "waiting":
            return "warning"
        if not self.items and (self.left or self.status == "lapsed"):
            return "error"
        return "warning" if self.left else "success"

    @property
    def what(self) -> str:
        """The items of the send as text: `20 needs in 3 orders`, or `3 orders`."""
        orders = counted_text(self.orders, "order")
        if self.kind == "order":
            return counted_text(self.items, "order")
        return gettext("%(items)s in %(orders)s") % {
            "items": counted_text(self.items, "need"),
            "orders": orders,
        }

    @property
    def command_id(self) -> UUID:
        """A new command id for the form in the notice."""
        return uuid4()


_LATE_MS: Final = 5_000


def _named(item: dict[str, Any]) -> dict[str, Any]:
    """Return the item with the key `name`: `Kettle at Dublin`, or the reference of an order."""
    if item["product"] is None:
        return item | {"name": item["subject"]}
    name = gettext("%(name)s at %(location)s") % {
        "name": item["product"],
        "location": item["location"],
    }
    return item | {"name": name}


def sends_of(person: str) -> Sequence[Send]:
    """Return up to 5 sends, newest first: waiting sends of all people, and ended ones of `person`.

    An ended send is left out if it was undone, if it ended more than a day ago, or if the person
    has closed its notice.
    """
    return select(_SENDS, {"person": person}, Send)


_DESKS: Final = ("reorders", "orders", "order")


@require_POST
@requires(MANAGE_ORDERS)
def act(request: HttpRequest) -> HttpResponse:
    """Undo a send that waits, or remove the notice about one that has ended.

    The URL has the query of the desk's list, so the person returns to the list with its filters.
    """
    form = SendActionForm(request.POST)

    def refused(message: str, status: int) -> HttpResponse:
        context = {"message": message, "sends": sends_of(request.user.get_username())}
        return render_page(request, "reorders/send_refused.html", context, status=status)

    desk = form.text("desk")
    back = reverse(desk if desk in _DESKS else "reorders")
    if desk == "order":
        back += f"?{urlencode({'ref': form.text('ref')})}"
    elif request.GET:
        back += f"?{request.GET.urlencode()}"
    return run_command(request, lambda: _executed(form, request.user.get_username()), refused, back)


def _executed(form: SendActionForm, actor: str) -> str:
    values = form.cleaned()
    given: dict[str, Any] = {
        "send_id": values["send"],
        "actor": actor,
        "command_id": values["command_id"],
    }
    match values["action"]:
        case "undo":
            items = cancel_send(**given).items
            return gettext("Undone: nothing was sent, and %(items)s can be picked again.") % {
                "items": counted_text(items, "row")
            }
        case "seen":
            acknowledge_send(**given)
            return ""  # no message: the notice itself disappears
        case "all_seen":
            for send in sends_of(actor):
                if send.status != "waiting":
                    given["command_id"] = uuid5(values["command_id"], str(send.id))
                    acknowledge_send(**given | {"send_id": send.id})
            return ""
        case unknown:
            field = "action"
            raise ServiceError(field, unknown, gettext_noop("undo, seen or all_seen"))
