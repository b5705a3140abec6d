"""The time zone of the stores, for times in messages and on pages."""

from datetime import UTC, tzinfo
from zoneinfo import ZoneInfo

from django.conf import settings


def zone_of(name: str) -> tzinfo:
    """Return the time zone of an IANA name; raise `ZoneInfoNotFoundError` for an unknown name.

    UTC needs no database of time zones, which a small container may lack.
    """
    return UTC if name == "UTC" else ZoneInfo(name)


def store_zone() -> tzinfo:
    """Return the time zone of this installation's stores."""
    return zone_of(settings.STORES_TIME_ZONE)
