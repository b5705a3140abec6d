"""One item's prices: past, in force and scheduled, manual changes and rollbacks."""

import time
from uuid import uuid4

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_POST

from ledger.kernel.amounts import amount_text
from ledger.messages import gettext_noop
from ledger.pricing.plausibility import ImplausiblePrice, require_plausible, usual_minor
from ledger.services import ServiceError, SetPrice, roll_back_price, set_price
from webui.accounts.roles import DECIDE_PRICES, SEE, requires
from webui.desks.prices.forms import PriceForm
from webui.desks.prices.queries import (
    PricedItem,
    PriceRow,
    following_price,
    last_id,
    price_rows,
    priced_item,
    prior_prices,
    undone_to_minor,
)
from webui.readmodel.charts import PRICE_HEADS, price_chart
from webui.readmodel.history import prices_by_day, timeline
from webui.shell.desk import Command, Refusal, answer
from webui.shell.forms import Typed
from webui.shell.page import render_page
from webui.shell.templatetags.shell import when


@require_GET
@requires(SEE)
def item_prices(request: HttpRequest, location: str, sku: str) -> HttpResponse:
    """Show past, present and future prices of one item, with the forms that change them."""
    return _show(request, f"{location}|{sku}", None)


@require_POST
@requires(DECIDE_PRICES)
def change(request: HttpRequest, location: str, sku: str) -> HttpResponse:
    """Write a manual or emergency price, or roll back the last change."""
    key = f"{location}|{sku}"
    back = reverse("prices-item", args=(location, sku))

    def execute(command: Command) -> str:
        return _execute(command, location, sku)

    return answer(request, execute, lambda asked, refusal: _show(asked, key, refusal), back)


def _show(request: HttpRequest, key: str, refusal: Refusal | None) -> HttpResponse:
    item = priced_item(key)
    if item is None:
        message = f"{key} is not ranged: only a ranged item has prices"
        raise Http404(message)
    rows = price_rows(key)
    priors = prior_prices(key, prior_rule=item.prior_rule)
    context = {
        "item": item,
        "rows": [(row, priors.get(row.id)) for row in rows],
        "newest": rows[0] if rows else None,
        "last_id": last_id(rows),
        "heads": PRICE_HEADS,
        "days": price_chart(prices_by_day(timeline(key), time.time_ns() // 1000)),
        "undone_to_minor": undone_to_minor(rows, item.regular_minor, item.floor_minor),
        "refusal": refusal,
        "form": refusal.form if refusal else {},
        "far_minor": _implausible_minor(refusal.form, item, rows) if refusal else None,
        "command_id": uuid4(),
    }
    status = 200 if refusal is None else refusal.status
    return render_page(request, "prices/item.html", context, live_keys=[key], status=status)


def _implausible_minor(typed: Typed, item: PricedItem, rows: list[PriceRow]) -> int | None:
    """Return the refused price if it only needs a confirmation; None for any other refusal."""
    usual = usual_minor(rows[0].price_minor if rows else None, item.regular_minor)
    try:
        require_plausible(PriceForm(typed).cleaned()["price"], usual)
    except ImplausiblePrice as refused:
        return refused.price_minor
    except ServiceError:
        return None
    return None


def _execute(command: Command, location: str, sku: str) -> str:
    reason = command.reason or None
    match command.action:
        case "manual" | "emergency" as kind:
            form = PriceForm(command.typed)
            wanted = SetPrice(
                location,
                sku,
                form.cleaned()["price"],
                kind,
                shown_price_id=command.shown_revision,
                is_confirmed=form.is_confirmed,
                reason=reason,
            )
            price_id = set_price(wanted, actor=command.actor, command_id=command.command_id)
            return _written(price_id)
        case "rollback":
            roll_back_price(
                location=location,
                sku=sku,
                shown_price_id=command.shown_revision,
                reason=reason,
                actor=command.actor,
                command_id=command.command_id,
            )
            return gettext(
                "Rolled back. The previous price applies again from the time that the timeline "
                "shows."
            )
        case unknown:
            field, rule = "action", gettext_noop("manual, emergency or rollback")
            raise ServiceError(field, unknown, rule)


def _written(price_id: int) -> str:
    """Return the message that a price was written.

    If a scheduled price will replace the written price, the message has its amount and start.
    """
    message = gettext("Written: the price applies from the next ten-minute window on.")
    following = following_price(price_id)
    if following is None:
        return message
    replaced = gettext(
        "From %(effective_from)s on, a scheduled price of %(price_minor)s replaces the written "
        "price."
    )
    return f"{message} {replaced}" % {
        "price_minor": amount_text(following.price_minor),
        "effective_from": when(following.effective_from),
    }
