"""Times in the words of a store's people: "today 02:31", "yesterday 22:10", "in 3 days".

Callers pass the current time and the time zone, so that tests can choose them.
"""

from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

from django.utils import dateformat
from django.utils.translation import gettext

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
    text = gettext("in %(days)s days") if days > 0 else gettext("%(days)s days ago")
    return text % {"days": abs(days)}


def datetime_of(at_us: int) -> datetime:
    """Return microseconds since 1970 UTC as an aware time."""
    return datetime.fromtimestamp(0, tz=UTC) + timedelta(microseconds=at_us)


def zone_of(name: str) -> tzinfo:
    """Return the time zone of an IANA name; raise `ZoneInfoNotFoundError` for an unknown name.

    UTC needs no database of time zones, which a small container may lack.
    """
    return UTC if name == "UTC" else ZoneInfo(name)


def _day(day: date, today: date) -> str:
    year = "" if day.year == today.year else f" {day.year}"
    named = {"day": day.day, "month": dateformat.format(day, "M")}
    return gettext("%(day)s %(month)s") % named + year
