"""The numbers of a supplier (docs/domain.md 7)."""

import pytest

from inventory.model.arithmetic import DAY_US, HOUR_US
from inventory.reports.scorecard import (
    LeadTime,
    is_written_back,
    lead_time,
    percentile,
    receipt_centidays,
    share_permille,
)


@pytest.mark.domain("7 scorecard lead time")
def test_lead_time_is_measured_in_hundredths_of_a_day() -> None:
    assert receipt_centidays(9 * HOUR_US, 6 * DAY_US + 15 * HOUR_US) == 625


def test_lead_time_rounds_a_tie_to_the_even_hundredth() -> None:
    half = DAY_US // 200

    assert [receipt_centidays(0, half * odd) for odd in (1, 3, 5)] == [0, 2, 2]


@pytest.mark.domain("7 scorecard mean, sd, p50, p90")
def test_lead_time_figures_match_the_example_in_domain_md() -> None:
    assert lead_time([500, 500, 700, 400, 900]) == LeadTime(5, 600, 178, 500, 900)


def test_no_receipt_has_no_lead_time() -> None:
    assert lead_time([]) is None
    assert share_permille(0, 0) is None


def test_lead_time_of_one_receipt_has_a_deviation_of_zero() -> None:
    assert lead_time([731]) == LeadTime(1, 731, 0, 731, 731)


@pytest.mark.parametrize(
    ("count", "percent", "rank"), [(1, 90, 1), (10, 90, 9), (11, 90, 10), (2, 50, 1), (3, 50, 2)]
)
def test_a_percentile_is_one_of_the_given_values(count: int, percent: int, rank: int) -> None:
    assert percentile(range(1, count + 1), percent) == rank


def test_shares_are_rounded_down() -> None:
    assert share_permille(2, 3) == 666
    assert share_permille(3, 3) == 1000


@pytest.mark.parametrize(
    ("receipts", "mean", "sd", "written"),
    [
        (4, 900, 178, False),
        (5, 600, 178, False),
        (5, 660, 178, False),  # a change of exactly a tenth isn't written
        (5, 661, 178, True),
        (5, 539, 178, True),
        (5, 600, 196, True),
        (5, 600, 195, False),
    ],
)
def test_lead_time_is_written_back_from_five_receipts_and_a_change_above_a_tenth(
    receipts: int, mean: int, sd: int, *, written: bool
) -> None:
    assert is_written_back(LeadTime(receipts, mean, sd, 500, 900), 600, 178) is written


def test_a_policy_without_a_lead_time_accepts_any_positive_lead_time() -> None:
    assert is_written_back(LeadTime(5, 1, 0, 1, 1), 0, 0)
    assert not is_written_back(LeadTime(5, 0, 0, 0, 0), 0, 0)


def test_a_negative_lead_time_is_not_written_back() -> None:
    assert not is_written_back(LeadTime(5, -1, 0, 0, 0), 600, 178)
