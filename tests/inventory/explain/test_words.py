"""Texts and figures of explanation lines: labels, units, signs and rounding."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inventory.explain import formatting
from inventory.explain.lines import Line, Section, Source, add, note, total
from inventory.replenishment.families import FAMILIES


@pytest.mark.parametrize(
    ("line", "label", "text"),
    [
        (add("sales_units", -1234), "Sales", "−1,234"),
        (add("receipts_units", 12), "Receipts", "+12"),
        (total("on_hand_units", 17), "On hand", "17"),
        (note("demand_rate_micro", 4_375_999), "Demand per day d", "4.375999"),
        (note("demand_rate_micro", 10_000_001), "Demand per day d", "10.000001"),
        (add("rate_change_micro", -312_500), "Change of the rate", "−0.3125"),
        (note("lead_time_centidays", 625), "Lead time L", "6.25 d"),
        (add("clamps_minor", 5), "Clamps", "+0.05"),
        (note("as_of_us", 7), "As of", "at 7"),
        (note("reorder_id", None), "Reorder id", "–"),
        (note("reason", "above_reorder_point"), "Reason", "above reorder point"),
        (note("margin_permille", 200), "Margin permille", "200"),
        (note("replenish_family", "sS"), "Reorder rule", FAMILIES["sS"].label),
    ],
    ids=lambda found: found.name if isinstance(found, Line) else None,
)
def test_the_unit_suffix_of_a_line_name_decides_its_format(
    line: Line, label: str, text: str
) -> None:
    assert formatting.label(line) == label
    assert formatting.text(line, lambda at_us: f"at {at_us}") == text


@pytest.mark.parametrize(
    "printed",
    [
        formatting.units_text,
        formatting.money_text,
        formatting.micro_text,
        formatting.exact_micro_text,
        formatting.centidays_text,
    ],
)
def test_an_unknown_value_is_printed_as_a_dash(printed: object) -> None:
    assert callable(printed)
    assert printed(None) == "–"


@pytest.mark.parametrize(
    ("centidays", "text"),
    [(625, "6.25 d"), (0, "0.00 d"), (-1, "−0.01 d"), (-50, "−0.50 d"), (-625, "−6.25 d")],
)
def test_a_negative_time_has_a_sign_and_the_same_digits(centidays: int, text: str) -> None:
    assert formatting.centidays_text(centidays) == text


def test_a_line_without_a_value_is_hidden_unless_it_has_a_detail() -> None:
    kept = (note("a_units", 0), note("b_units", None, "not observed"))
    section = Section("stock", (*kept, note("c_units", None), note("flags", "")))

    assert formatting.visible_lines(section) == kept


def test_a_line_names_its_row_and_its_person() -> None:
    assert formatting.origin(note("x", 1)) == ""
    assert formatting.origin(note("x", 1, "", Source("stock_count", 12))) == "stock_count 12"
    by = note("x", 1, "", Source("stock_count", 12, "ann"))
    assert formatting.origin(by) == "stock_count 12 by ann"


@pytest.mark.parametrize(
    ("micro", "text"),
    [
        (4_375_499, "4.375"),
        (4_375_500, "4.376"),
        (-4_375_500, "−4.376"),
        (999_999, "1.000"),
        (999_999_500, "1,000.000"),
        (499, "0.000"),
        (-499, "0.000"),
        (-500, "−0.001"),
    ],
)
def test_a_rate_is_rounded_and_never_cut_off(micro: int, text: str) -> None:
    assert formatting.micro_text(micro) == text


def number(text: str) -> Fraction:
    return Fraction(text.replace("−", "-").replace(",", ""))


@given(st.integers(-(2**53), 2**53))
def test_a_printed_rate_is_the_nearest_thousandth_and_ties_leave_zero(micro: int) -> None:
    shown, exact = number(formatting.micro_text(micro)), Fraction(micro, 1_000_000)

    distance = abs(shown - exact)
    assert distance <= Fraction(1, 2000)
    assert distance < Fraction(1, 2000) or abs(shown) > abs(exact)
    assert number(formatting.micro_text(-micro)) == -shown


@given(st.integers(-(2**53), 2**53))
def test_an_exact_rate_is_printed_with_all_digits(micro: int) -> None:
    text = formatting.exact_micro_text(micro)

    assert number(text) == Fraction(micro, 1_000_000)
    assert text.endswith(formatting.micro_text(micro)) or micro % 1000


@given(st.lists(st.integers(-(2**40), 2**40)))
def test_printed_steps_of_a_rate_add_up_to_the_printed_sum(steps: list[int]) -> None:
    texts = [formatting.text(add("rate_change_micro", step), str) for step in steps]

    assert sum(map(number, texts)) == number(
        formatting.text(total("learned_rate_micro", sum(steps)), str)
    )
