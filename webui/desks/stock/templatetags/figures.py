"""Template filters for the texts of `webui.readmodel.figures`."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from django import template
from django.utils.translation import gettext

from cdc.contracts.times import us_of, with_times
from ledger.messages import gettext_noop
from webui.readmodel import figures

register = template.Library()

_DECIDED: Final = {
    "approve": gettext_noop("approved"),
    "reject": gettext_noop("rejected"),
    "snooze": gettext_noop("snoozed"),
    "resume": gettext_noop("resumed"),
}

register.filter("units", figures.units_text)
register.filter("signed_units", figures.signed_units_text)
register.filter("signed_money", figures.signed_money_text)
register.filter("money", figures.money_text)
register.filter("micro", figures.micro_text)
register.filter("centidays", figures.centidays_text)
register.filter("at_us", figures.time_text)
register.filter("with_times", with_times)
register.filter("age", figures.age_text)
register.filter("bytes", figures.bytes_text)
register.filter("cover", figures.cover_text)
register.filter("counted", figures.counted_text)


@register.filter
def at(values: Mapping[str, str], key: str) -> str:
    """Return the value of `key`, or an empty text."""
    return values.get(key, "")


@register.filter
def utc(moment: datetime | None) -> str:
    """Return a time as UTC text to the second: `2026-11-21 10:42:07`; a dash for None."""
    return "–" if moment is None else figures.time_text(us_of(moment))


@register.filter
def status_label(status: str) -> str:
    """Return the label of a status."""
    return gettext(figures.LABELS[status]) if status in figures.LABELS else status


@register.filter
def status_meaning(status: str) -> str:
    """Return the condition of the status as text: "nothing available to sell"."""
    return gettext(figures.MEANINGS[status]) if status in figures.MEANINGS else ""


@register.filter
def decided(action: str) -> str:
    """Return the past participle of a decision: `approve` as `approved`."""
    return gettext(_DECIDED[action]) if action in _DECIDED else action
