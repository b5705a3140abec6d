from datetime import UTC, datetime, timedelta, timezone

import pytest

from cdc.contracts.times import moment_of, time_text, us_of, with_times


@pytest.mark.parametrize("at_us", [0, 1, -1, 1_772_452_800_999_999, 253_402_300_799_999_999])
def test_moment_of_and_us_of_are_exact_inverses(at_us: int) -> None:
    assert us_of(moment_of(at_us)) == at_us


def test_a_moment_of_another_zone_is_the_same_instant() -> None:
    noon = datetime(2026, 3, 2, 12, tzinfo=UTC)

    assert us_of(noon.astimezone(timezone(timedelta(hours=-5)))) == us_of(noon)


def test_times_are_printed_in_utc_to_the_second() -> None:
    assert time_text(1_772_452_800_999_999) == "2026-03-02 12:00:00"


def test_times_in_the_detail_of_a_rejected_record_are_readable() -> None:
    detail = "count 5791 of 1795381200000000 is before the horizon 1795478400000000"

    assert with_times(detail) == (
        "count 5791 of 2026-11-22 21:00:00 UTC is before the horizon 2026-11-24 00:00:00 UTC"
    )
    assert with_times("units: 17953812000000001, id 17") == "units: 17953812000000001, id 17"
