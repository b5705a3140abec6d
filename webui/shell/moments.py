"""Times in the words of a store's people: "today 02:31", "yesterday 22:10", "in 3 days".

Callers pass the current time and the time zone, so that tests can choose them.
"""

from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final

from django.utils import dateformat
from django.utils.translation import gettext, ngettext

from ledger.messages import gettext_noop

# Beyond two weeks, show a date: it is easier to find in a calendar than a number of days.
NEAR_DAYS: Final = 14
WEEK_DAYS: Final = 7
_NAMES: Final = {
    -1: gettext_noop("yesterday"),
    0: gettext_noop("today"),
    1: gettext_noop("tomorrow"),
}


def moment_text(at: datetime, *, now: datetime, zone: tzinfo) -> str:
    """Return a time by the clock of `zone`, with its day as seen from `now`.

    Examples: `today 02:31`, `yesterday 22:10`, `Sat 10:42` within a week, `3 Nov, 10:42` in the
    year of `now`, `3 Nov 2025, 10:42` in other years. Both times are aware.
    """
    local, today = at.astimezone(zone), now.astimezone(zone).date()
    clock = f"{local:%H:%M}"
    days = (local.date() - today).days
    if days in _NAMES:
        return f"{gettext(_NAMES[days])} {clock}"
    if abs(days) < WEEK_DAYS:
        return f"{dateformat.format(local, 'D')} {clock}"
    return f"{_day(local.date(), today)}, {clock}"


def day_text(day: date, *, today: date) -> str:
    """Return a day as seen from `today`: `tomorrow`, `in 3 days`, `5 days ago`, `12 Jan 2027`."""
    days = (day - today).days
    if days in _NAMES:
        return gettext(_NAMES[days])
    if abs(days) > NEAR_DAYS:
        return _day(day, today)
    if days > 0:
        text = ngettext("in %(days)s day", "in %(days)s days", days)
    else:
        text = ngettext("%(days)s day ago", "%(days)s days ago", -days)
    return text % {"days": abs(days)}


def datetime_of(at_us: int) -> datetime:
    """Return microseconds since 1970 UTC as an aware time."""
    return datetime.fromtimestamp(0, tz=UTC) + timedelta(microseconds=at_us)


def _day(day: date, today: date) -> str:
    year = "" if day.year == today.year else f" {day.year}"
    named = {"day": day.day, "month": dateformat.format(day, "M")}
    return gettext("%(day)s %(month)s") % named + year
