"""Lines in words and figures: the same for every reader."""

import pytest

from inventory.explanation import words
from inventory.explanation.lines import Line, Section, Source, add, note, total


@pytest.mark.parametrize(
    ("line", "label", "text"),
    [
        (add("sales_units", -1234), "Sales", "−1,234"),
        (add("receipts_units", 12), "Receipts", "+12"),
        (total("on_hand_units", 17), "On hand", "17"),
        (note("demand_rate_micro", 4_375_999), "Demand per day d", "4.375"),
        (note("lead_time_centidays", 625), "Lead time L", "6.25 d"),
        (add("clamps_minor", 5), "Clamps", "+0.05"),
        (note("as_of_us", 7), "As of", "at 7"),
        (note("reorder_id", None), "Reorder id", "–"),
        (note("reason", "above_reorder_point"), "Reason", "above reorder point"),
        (note("margin_permille", 200), "Margin permille", "200"),
    ],
    ids=lambda found: found.name if isinstance(found, Line) else None,
)
def test_the_unit_at_the_end_of_a_name_says_how_it_is_printed(
    line: Line, label: str, text: str
) -> None:
    assert words.label(line) == label
    assert words.text(line, lambda at_us: f"at {at_us}") == text


@pytest.mark.parametrize(
    "printed",
    [words.units_text, words.money_text, words.micro_text, words.centidays_text],
)
def test_what_is_not_known_is_a_dash(printed: object) -> None:
    assert callable(printed)
    assert printed(None) == "–"


def test_a_line_without_value_is_left_out_unless_it_says_why() -> None:
    kept = (note("a_units", 0), note("b_units", None, "not observed"))
    section = Section("stock", (*kept, note("c_units", None), note("flags", "")))

    assert words.shown(section) == kept


def test_a_line_names_its_row_and_its_person() -> None:
    assert words.origin(note("x", 1)) == ""
    assert words.origin(note("x", 1, "", Source("stock_count", 12))) == "stock_count 12"
    by = note("x", 1, "", Source("stock_count", 12, "ann"))
    assert words.origin(by) == "stock_count 12 by ann"
