"""The frame of every page: navigation, rights, URL of the event stream, age of the data."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext

from cdc.contracts.partition import partition_of
from cdc.contracts.topics import ON_HAND_CHANGELOG
from ledger.access.scope import stores_of
from ledger.kernel.sink_positions import as_of_by_partition
from ledger.messages import gettext_noop
from webui.accounts.roles import (
    COUNT,
    MANAGE_REFERENCE,
    MANAGE_STAFF,
    RANGE_ITEMS,
    RECEIVE,
    SEE,
    SEE_HISTORY,
    SEE_ORDERS,
    SEE_TRANSFERS,
    SET_LIMITS,
    STOP_PRICES,
    abilities,
)
from webui.live.access import sign_keys
from webui.shell.navigation import (
    BAR,
    BAR_LENGTH,
    GROUPS,
    ICONS,
    OTHER_ICON,
    SCAN,
    SCAN_PAGE,
)

# For each desk: the name of its route, its label, its key (pressed after "g"), and the right that
# it requires. The name of the route, up to a colon, is also the directory of the desk's templates.
NAVIGATION: Final = (
    ("home", gettext_noop("Home"), "h", SEE),
    ("find", gettext_noop("Find"), "f", SEE),
    ("stock", gettext_noop("Stock"), "s", SEE),
    ("tasks", gettext_noop("Tasks"), "t", SEE),
    ("counts", gettext_noop("Count"), "c", COUNT),
    ("receiving", gettext_noop("Receive"), "v", RECEIVE),
    ("transfers", gettext_noop("Transfers"), "m", SEE_TRANSFERS),
    ("reorders", gettext_noop("Reorders"), "r", SEE),
    ("orders", gettext_noop("Orders"), "o", SEE_ORDERS),
    ("suppliers", gettext_noop("Suppliers"), "u", SEE_ORDERS),
    ("ranging", gettext_noop("Range"), "n", RANGE_ITEMS),
    ("prices", gettext_noop("Prices"), "p", SEE),
    ("history", gettext_noop("History"), "b", SEE_HISTORY),
    ("system", gettext_noop("System"), "y", SEE),
    ("people", gettext_noop("People"), "e", MANAGE_STAFF),
    ("admin:index", gettext_noop("Admin"), "a", MANAGE_REFERENCE),
)
# Pages whose last response a device keeps for reading without a network (`js/service-worker.js`).
KEPT_OFFLINE: Final = frozenset({"stock/list.html"})
OK: Final = 200
# Rights whose views also need access to all stores. The forms for these views are on pages that
# people with access to some stores see, too. The pages hide the forms from these people.
OF_ALL_STORES: Final = frozenset({SET_LIMITS, STOP_PRICES})
# Desks for people who work in every store.
OF_COMPANY: Final = frozenset({"admin:index", "history"})


@dataclass(frozen=True, slots=True)
class Tab:
    """One entry of the navigation. "g" and then `key` open it; `group` is the heading above it."""

    name: str
    label: str
    url: str
    key: str
    is_current: bool
    group: str
    icon: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """As-of time (µs since 1970 UTC) and age (µs) of a page's data.

    Both are of the partition with the oldest as-of time, among the partitions of the page's keys.
    """

    as_of_us: int | None
    age_us: int | None


def freshness(keys: Sequence[str], partitions: int = 12) -> Freshness:
    """Return the as-of time and age of the partitions of `keys`, or of all if `keys` is empty.

    Ages use the server's clock. Both values are None while a partition has no known as-of time.
    """
    known = as_of_by_partition(ON_HAND_CHANGELOG)
    wanted = {partition_of(key.encode(), partitions) for key in keys} or set(range(partitions))
    if not wanted <= known.keys():
        return Freshness(None, None)
    as_of_us = min(known[number] for number in wanted)
    return Freshness(as_of_us, max(0, time.time_ns() // 1000 - as_of_us))


def render_page(
    request: HttpRequest,
    template: str,
    context: Mapping[str, Any],
    *,
    live_keys: Sequence[str] = (),
    status: int = 200,
) -> HttpResponse:
    """Return the page of a template, in the frame for this person.

    `live_keys` are the keys whose figures change on the open page.
    """
    frame = frame_of(request, template, live_keys=live_keys)
    response = render(request, template, {**frame, **context}, status=status)
    response["Cache-Control"] = "no-store"
    if template in KEPT_OFFLINE and request.method == "GET" and status == OK:
        response["Keep-Offline"] = "last-list"
    return response


def frame_of(
    request: HttpRequest, current: str, *, live_keys: Sequence[str] = ()
) -> dict[str, Any]:
    """Return the context of `base.html`; `current` is the page's template, or only its desk."""
    may = _may(request)
    keys = list(live_keys)
    tabs = _tabs(request, current.partition("/")[0], may)
    signed_keys = sign_keys(request.user.pk or 0, keys)
    return {
        "tabs": tabs,
        "bar": _bar(_with_scan(tabs, is_current=current == SCAN_PAGE) if COUNT in may else tabs),
        "may": dict.fromkeys(may, True),
        "live_url": f"{reverse('live-stream')}?{urlencode({'keys': signed_keys})}",
        "freshness": freshness(keys),
        "is_answer": request.method == "POST",
    }


def _may(request: HttpRequest) -> Collection[str]:
    """Return the person's rights, without `OF_ALL_STORES` if they work in some stores only."""
    may = abilities(request.user)
    return may if stores_of(request.user).everywhere else may - OF_ALL_STORES


def _tabs(request: HttpRequest, current: str, may: Collection[str]) -> list[Tab]:
    everywhere = stores_of(request.user).everywhere
    tabs, group = [], ""
    for name, label, key, ability in NAVIGATION:
        group = GROUPS.get(name, group)
        if ability not in may or (name in OF_COMPANY and not everywhere):
            continue
        is_current = name.partition(":")[0] == current
        icon = ICONS.get(name, OTHER_ICON)
        heading = gettext(group) if group else ""
        tabs.append(Tab(name, gettext(label), reverse(name), key, is_current, heading, icon))
    return tabs


def _with_scan(tabs: Sequence[Tab], *, is_current: bool) -> list[Tab]:
    """Return the tabs and the tab Scan. On the page Scan, only this tab is marked as current."""
    scan = Tab(SCAN, "", reverse(SCAN), "", is_current, "", ICONS[SCAN])
    return [*(replace(tab, is_current=tab.is_current and not is_current) for tab in tabs), scan]


def _bar(tabs: Sequence[Tab]) -> list[Tab]:
    """Return the desks of the phone's bar, at most one for each label."""
    by_name = {tab.name: tab for tab in tabs}
    chosen: dict[str, Tab] = {}
    for name, label in BAR:
        if name in by_name and label not in chosen and len(chosen) < BAR_LENGTH:
            icon = "search" if label == "Find" else by_name[name].icon
            chosen[label] = replace(by_name[name], label=gettext(label), icon=icon)
    return list(chosen.values())
