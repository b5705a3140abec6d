import pytest

from cdc.contracts.times import moment_of, us_of
from webui.readmodel.decision_terms import lines
from webui.readmodel.figures import (
    age_text,
    centidays_text,
    counted_text,
    cover_of,
    cover_text,
    micro_text,
    money_text,
    signed_units_text,
    status_of,
    time_text,
    units_text,
)


@pytest.mark.parametrize(
    ("on_hand", "available", "expected"),
    [
        (-1, -1, "negative"),
        (0, 0, "out"),
        (5, 0, "out"),
        (5, -2, "out"),
        (20, 20, "low"),
        (21, 21, "ok"),
        (60, 60, "ok"),
        (61, 61, "over"),
        (61, 20, "low"),
    ],
)
def test_the_status_word_changes_exactly_at_its_boundary(
    on_hand: int, available: int, expected: str
) -> None:
    status = status_of(
        on_hand_units=on_hand,
        available_to_sell_units=available,
        reorder_point_units=20,
        order_up_to_units=60,
    )

    assert status == expected


def test_without_levels_an_item_on_the_shelf_is_ok() -> None:
    status = status_of(
        on_hand_units=1,
        available_to_sell_units=1,
        reorder_point_units=None,
        order_up_to_units=None,
    )

    assert status == "ok"


def test_units_money_and_days_are_formatted_from_integers() -> None:
    assert units_text(-12345) == "−12,345"
    assert units_text(None) == "–"
    assert [signed_units_text(units) for units in (3, 0, -3)] == ["+3", "0", "−3"]
    assert [money_text(minor) for minor in (99_905, -5, None)] == ["999.05", "−0.05", "–"]
    assert micro_text(4_375_999) == "4.376"
    assert centidays_text(625) == "6.25 d"


@pytest.mark.parametrize(
    ("age_us", "expected"),
    [
        (None, "unknown"),
        (-5, "0.0 s"),
        (340_000, "0.3 s"),
        (9_999_999, "9.9 s"),
        (10_000_000, "10 s"),
        (119_000_000, "119 s"),
        (120_000_000, "2 min"),
        (7_200_000_000, "2 h"),
        (172_800_000_000, "2 d"),
    ],
)
def test_an_age_is_printed_in_the_unit_that_fits(age_us: int | None, expected: str) -> None:
    assert age_text(age_us) == expected


def test_a_time_converts_to_microseconds_and_back() -> None:
    at_us = 1_795_257_727_000_001

    assert us_of(moment_of(at_us)) == at_us
    assert time_text(at_us) == "2026-11-21 10:42:07"


def test_terms_are_printed_with_the_unit_of_their_name() -> None:
    printed = lines(
        [
            ["demand_rate_micro", 1_500_000],
            ["reorder_point_units", 12],
            ["replenish_family", "sS"],
            ["reason", None],
            ["flags", ""],
        ]
    )

    assert [(line.label, line.text, line.is_sum) for line in printed] == [
        ("Demand per day d", "1.500", False),
        ("Reorder point", "12", True),
        (
            "Reorder rule",
            "sS, min/max: when the reorder point is reached, order up to the order level",
            False,
        ),
    ]


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 units"), (1, "1 unit"), (2, "2 units"), (1_200, "1,200 units")]
)
def test_counted_text_uses_the_singular_for_one(number: int, said: str) -> None:
    assert counted_text(number, "unit") == said


@pytest.mark.parametrize(
    ("available", "in_transit", "rate_micro", "cover"),
    [
        (10, 5, 2_000_000, 750),
        (-10, 5, 2_000_000, 250),
        (10, -5, 3_000_000, 333),
        (0, 0, 1, 0),
        (10, 0, 0, None),
    ],
)
def test_cover_is_available_plus_in_transit_divided_by_demand_rounded_down(
    available: int, in_transit: int, rate_micro: int, cover: int | None
) -> None:
    found = cover_of(
        available_to_sell_units=available, in_transit_units=in_transit, rate_micro=rate_micro
    )

    assert found == cover


def test_cover_is_formatted_in_days_and_very_long_cover_in_words() -> None:
    days = [0, 49, 999, 1_000, 36_500, 36_501, 33_333_300, None]

    printed = [cover_text(centidays) for centidays in days]

    assert printed == [
        "0.0 d",
        "0.4 d",
        "9.9 d",
        "10 d",
        "365 d",
        "hardly sells",
        "hardly sells",
        "no demand",
    ]
