"""Exact conversion between UTC datetimes and integer microseconds since 1970 UTC."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_TIME_US: Final = re.compile(r"(?<![\w-])1[0-9]{15}(?!\w)")  # times of the years 2001 to 2033


def us_of(moment: datetime) -> int:
    """Return the exact epoch microseconds of an aware datetime."""
    elapsed = moment - EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


def moment_of(at_us: int) -> datetime:
    """Return the UTC datetime of an epoch microsecond."""
    return EPOCH + timedelta(microseconds=at_us)


def time_text(at_us: int) -> str:
    """Return a time as `2026-11-21 10:42:07` in UTC, the format of pages and commands."""
    return moment_of(at_us).strftime("%Y-%m-%d %H:%M:%S")


def with_times(detail: str) -> str:
    """Return a rejected record's `detail`, with each 16-digit time (µs) replaced by UTC text."""
    return _TIME_US.sub(lambda found: f"{time_text(int(found[0]))} UTC", detail)
