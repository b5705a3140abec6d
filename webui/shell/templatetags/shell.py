"""Template tags of every page: icons, and times like `today 02:31`."""

from datetime import date, datetime, tzinfo
from functools import cache
from pathlib import Path
from urllib.parse import quote

from django import template
from django.conf import settings
from django.utils import timezone

from ledger.kernel.zones import store_zone, zone_of
from webui.readmodel.figures import time_text
from webui.shell.moments import datetime_of, day_text, moment_text

register = template.Library()


@register.inclusion_tag("icon.html")
def icon(name: str) -> dict[str, str]:
    """Return the values of the template `icon.html`: an icon of `vendor/lucide/lucide.svg`.

    The icon has size and colour of the surrounding text. A screen reader skips it, so write a
    visible or hidden text beside it.
    """
    return {"name": name}


@register.simple_tag
def favicon() -> str:
    """Return `static/icon.svg` as a data URL, so that a page needs no request for it."""
    return _favicon()


@cache
def _favicon() -> str:
    drawing = (Path(settings.BASE_DIR) / "static/icon.svg").read_text(encoding="utf-8")
    return f"data:image/svg+xml,{quote(drawing.strip())}"


@register.filter
def when(at: int | datetime | None, zone: str = "") -> str:
    """Return a time by the store's clock, like `today 02:31`; a dash for None.

    `at` is aware, or microseconds since 1970 UTC. `zone` is the IANA name of the store's time zone.
    By default it is the zone in the settings.
    """
    if at is None:
        return "–"
    moment = datetime_of(at) if isinstance(at, int) else at
    return moment_text(moment, now=timezone.now(), zone=_zone(zone))


@register.filter
def due(day: date | None, zone: str = "") -> str:
    """Return a day as seen from the store, like `in 3 days`; a dash for None."""
    if day is None:
        return "–"
    if isinstance(day, datetime):
        day = day.astimezone(_zone(zone)).date()
    return day_text(day, today=timezone.now().astimezone(_zone(zone)).date())


@register.inclusion_tag("moment.html")
def moment(at: int | datetime | None, zone: str = "") -> dict[str, str]:
    """Return the values of the template `moment.html`: the store's time, with UTC as tooltip."""
    if at is None:
        return {"text": "–", "utc": ""}
    exact = datetime_of(at) if isinstance(at, int) else at
    utc = time_text(round(exact.timestamp() * 1_000_000))
    return {"text": when(at, zone), "utc": utc}


@register.simple_tag
def clock_of_stores() -> str:
    """Return the name of the stores' time zone."""
    return str(settings.STORES_TIME_ZONE)


def _zone(name: str) -> tzinfo:
    return zone_of(name) if name else store_zone()
