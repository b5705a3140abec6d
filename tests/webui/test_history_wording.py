"""Texts of an answer's cells, in the unit that the heading of their column states."""

import pytest

from webui.desks.history.wording import cell_text, column_title


@pytest.mark.parametrize(
    ("name", "cell", "text"),
    [
        ("lead_time_centidays", 250, "2.50 d"),
        ("lead_time_centidays", 249.6, "2.50 d"),
        ("price_minor", 649, "6.49"),
        ("price_minor", 649.6, "6.50"),
        ("price_minor", -123_450.0, "−1,234.50"),
        ("rate_micro", 4_375_500, "4.376"),
        ("rate_micro", 4_375_499.5, "4.376"),
        ("share", 0.5, "0.50"),
        ("units", 1_200, "1,200"),
        ("price_minor", None, "–"),
    ],
)
def test_an_answer_cell_has_the_unit_of_its_column_heading(
    name: str, cell: object, text: str
) -> None:
    assert cell_text(name, cell) == text
    assert column_title("lead_time_centidays") == "Lead time"
