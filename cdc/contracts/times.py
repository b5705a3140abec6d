"""Epoch microseconds and the moments that Python and Postgres know: exact, in UTC, both ways."""

from datetime import UTC, datetime, timedelta
from typing import Final

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def us_of(moment: datetime) -> int:
    """Epoch microseconds of an aware moment, exactly."""
    elapsed = moment - EPOCH
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


def moment_of(at_us: int) -> datetime:
    """The UTC moment of an epoch microsecond."""
    return EPOCH + timedelta(microseconds=at_us)


def time_text(at_us: int) -> str:
    """`2026-11-21 10:42:07`, UTC, as pages and commands print times."""
    return moment_of(at_us).strftime("%Y-%m-%d %H:%M:%S")
