from datetime import UTC, datetime, timedelta, timezone

import pytest

from cdc.contracts.times import moment_of, time_text, us_of


@pytest.mark.parametrize("at_us", [0, 1, -1, 1_772_452_800_999_999, 253_402_300_799_999_999])
def test_a_moment_is_exact_both_ways(at_us: int) -> None:
    assert us_of(moment_of(at_us)) == at_us


def test_a_moment_of_another_zone_is_the_same_instant() -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)

    assert us_of(noon.astimezone(timezone(timedelta(hours=-5)))) == us_of(noon)


def test_times_are_printed_in_utc_to_the_second() -> None:
    assert time_text(1_772_452_800_999_999) == "2026-03-02 12:00:00"
