"""Times in words, for example "today 02:31", by the clock of the store."""

from datetime import UTC, date, datetime

import pytest
from pydantic import ValidationError

from ledger.kernel.zones import zone_of
from webui.config.environment import WebEnvironment
from webui.shell.moments import datetime_of, day_text, moment_text

NOW = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)  # a Tuesday


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 11, 24, 2, 31, tzinfo=UTC), "today 02:31"),
        (datetime(2026, 11, 24, 0, 0, tzinfo=UTC), "today 00:00"),
        (datetime(2026, 11, 23, 23, 59, tzinfo=UTC), "yesterday 23:59"),
        (datetime(2026, 11, 25, 8, 0, tzinfo=UTC), "tomorrow 08:00"),
        (datetime(2026, 11, 22, 10, 42, tzinfo=UTC), "Sun 10:42"),
        (datetime(2026, 11, 18, 10, 42, tzinfo=UTC), "Wed 10:42"),
        (datetime(2026, 11, 17, 10, 42, tzinfo=UTC), "17 Nov, 10:42"),
        (datetime(2025, 11, 3, 10, 42, tzinfo=UTC), "3 Nov 2025, 10:42"),
        (datetime(2027, 1, 3, 10, 42, tzinfo=UTC), "3 Jan 2027, 10:42"),
    ],
)
def test_a_time_is_shown_with_its_day_relative_to_now(at: datetime, text: str) -> None:
    assert moment_text(at, now=NOW, zone=UTC) == text


def test_the_day_of_a_time_uses_the_time_zone_of_the_store() -> None:
    late = datetime(2026, 11, 23, 23, 30, tzinfo=UTC)

    assert moment_text(late, now=NOW, zone=zone_of("Europe/Berlin")) == "today 00:30"
    assert moment_text(late, now=NOW, zone=zone_of("America/New_York")) == "yesterday 18:30"


def test_both_times_of_a_repeated_hour_are_shown_in_local_time() -> None:
    before, after = (datetime(2026, 10, 25, hour, 30, tzinfo=UTC) for hour in (0, 1))
    now = datetime(2026, 10, 25, 12, 0, tzinfo=UTC)

    texts = [moment_text(at, now=now, zone=zone_of("Europe/Berlin")) for at in (before, after)]

    assert texts == ["today 02:30", "today 02:30"]


@pytest.mark.parametrize(
    ("day", "text"),
    [
        (date(2026, 11, 24), "today"),
        (date(2026, 11, 23), "yesterday"),
        (date(2026, 11, 25), "tomorrow"),
        (date(2026, 11, 27), "in 3 days"),
        (date(2026, 12, 8), "in 14 days"),
        (date(2026, 12, 9), "9 Dec"),
        (date(2026, 11, 10), "14 days ago"),
        (date(2026, 11, 9), "9 Nov"),
        (date(2027, 1, 12), "12 Jan 2027"),
    ],
)
def test_a_near_day_is_shown_in_words_and_another_as_a_date(day: date, text: str) -> None:
    assert day_text(day, today=NOW.date()) == text


def test_datetime_of_keeps_microseconds() -> None:
    at = datetime_of(1_772_452_800_000_001)

    assert (at.microsecond, at.tzinfo) == (1, UTC)


def test_an_unknown_time_zone_is_refused_at_the_start() -> None:
    assert WebEnvironment(time_zone="Europe/Dublin").time_zone == "Europe/Dublin"
    for name in ("Europe/Atlantis", "../../etc/passwd", ""):
        with pytest.raises(ValidationError, match="no time zone has the name"):
            WebEnvironment(time_zone=name)
