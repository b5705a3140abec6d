"""The tabs of the item page. Each tab is a page of its own, so it works without a script."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from django.http import HttpRequest
from django.utils.translation import gettext

from cdc.contracts.times import us_of
from cdc.workers import LiveKey
from inventory.pricing.targets import floor_minor
from ledger.messages import gettext_noop
from webui.desks.prices.queries import last_id, price_rows, undone_to_minor
from webui.desks.stock.explained import Explained, explained, state_of
from webui.desks.stock.facts import FactPage
from webui.desks.stock.policy import policy_card
from webui.desks.stock.sales import sales_views
from webui.desks.stock.sparkline import bars
from webui.desks.stock.windows import shown_windows
from webui.readmodel import explain
from webui.readmodel.charts import PRICE_HEADS, demand_chart, price_chart, stock_chart
from webui.readmodel.history import History, history, prices_by_day, timeline
from webui.shell.desk import Refusal

LABELS: Final = {
    "stock": gettext_noop("Stock"),
    "demand": gettext_noop("Demand"),
    "reorder": gettext_noop("Reorder"),
    "price": gettext_noop("Price"),
    "policy": gettext_noop("Policy"),
    "sources": gettext_noop("Sources"),
}


@dataclass(frozen=True, slots=True)
class Shown:
    """The data of a key that its page shows.

    `level` is the key's row of the read model. `page` has some of its facts. `live` is the worker's
    answer with the state of the key.
    """

    inv_key: str
    level: explain.Item | None
    policy: explain.Policy | None
    page: FactPage
    live: LiveKey
    now_us: int

    @property
    def explained(self) -> Explained | None:
        """The explanation; None while the read model has no row of the key."""
        return None if self.level is None else explained(self.level, self.live)

    @property
    def history(self) -> History:
        """The facts of 90 days.

        The last of these days contains the newest fact or the as-of time, whichever is later.
        """
        newest_us = us_of(self.page.newest.business_at) if self.page.newest else 0
        as_of_us = 0 if self.level is None else self.level.as_of_us
        return history(self.inv_key, max(as_of_us, newest_us))


def tab_of(request: HttpRequest) -> str:
    """Return the tab in the query string, or `stock` if there is none."""
    wanted = request.GET.get("tab", "")
    return wanted if wanted in LABELS else "stock"


def tab_context(
    tab: str, shown: Shown, may: frozenset[str], refusal: Refusal | None
) -> dict[str, Any]:
    """Return the context of the tab's template, without the header of the page."""
    if tab == "policy":
        return policy_card(shown.policy, may, refusal)
    return _TABS[tab](shown)


def _stock(shown: Shown) -> dict[str, Any]:
    return {
        "sections": _sections(shown, "stock"),
        "days": stock_chart(shown.history.stock()),
        "heads": (gettext("On hand"),),
        "inbound": explain.inbound(shown.inv_key),
    }


def _demand(shown: Shown) -> dict[str, Any]:
    windows = explain.windows(shown.inv_key)
    found: dict[str, Any] = {
        "sections": _sections(shown, "demand"),
        "windows": shown_windows(shown.inv_key, windows),
        "bars": bars(windows),
        "sales": None,
        "heads": (gettext("Sold"), gettext("Counts as")),
    }
    if shown.level is not None:
        state, _, _ = state_of(shown.level, shown.live)
        found["sales"] = sales_views(shown.inv_key, shown.level.as_of_us)
        found["days"] = demand_chart(shown.history.demand(state))
        found["rate_micro"] = shown.level.rate_micro
    return found


def _reorder(shown: Shown) -> dict[str, Any]:
    return {
        "sections": _sections(shown, "levels", "quantity", "hold"),
        "inbound": explain.inbound(shown.inv_key),
    }


def _price(shown: Shown) -> dict[str, Any]:
    policy, rows = shown.policy, price_rows(shown.inv_key)
    floor = None
    if policy is not None:
        floor = floor_minor(policy.cost_minor, policy.margin_permille, policy.tax_bp)
    return {
        "sections": _sections(shown, "price"),
        "days": price_chart(prices_by_day(timeline(shown.inv_key), shown.now_us)),
        "heads": PRICE_HEADS,
        "floor_minor": floor,
        "prices": explain.prices(shown.inv_key),
        "last_id": last_id(rows),
        "undone_to_minor": None
        if policy is None or floor is None
        else undone_to_minor(rows, policy.regular_minor, floor),
        "command_id": uuid4(),
    }


def _sources(shown: Shown) -> dict[str, Any]:
    found = shown.explained
    return {"explained": found, "sections": found.sections if found else ()}


def _sections(shown: Shown, *names: str) -> list[Any]:
    found = shown.explained
    return [] if found is None else [one for one in found.sections if one.name in names]


_TABS: Final[dict[str, Callable[[Shown], dict[str, Any]]]] = {
    "stock": _stock,
    "demand": _demand,
    "reorder": _reorder,
    "price": _price,
    "sources": _sources,
}
