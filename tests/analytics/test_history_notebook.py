"""The notebook of the history runs in a clean clone, and gives the charts that the file has."""

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from analytics.history.charts import bars
from analytics.history.questions import questions
from tests.analytics.notebook import PATH, a_home_with_a_run, encoded, executed


def written() -> dict[str, Any]:
    return dict(json.loads(PATH.read_text(encoding="utf-8")))


def test_every_notebook_cell_runs_and_gives_the_saved_output(tmp_path: Path) -> None:
    found = executed(written(), a_home_with_a_run(tmp_path))

    assert encoded(found) == PATH.read_text(encoding="utf-8"), (
        "run python -m tests.analytics.notebook"
    )


def test_the_notebook_has_a_chart_of_every_question() -> None:
    sources = ["".join(cell["source"]) for cell in written()["cells"]]
    outputs = [out for cell in written()["cells"] for out in cell.get("outputs", [])]
    charts = [
        out["data"]["image/svg+xml"] for out in outputs if "image/svg+xml" in out.get("data", {})
    ]

    asked = set(re.findall(r'history\.ask\("(\w+)"\)', "\n".join(sources)))
    assert asked == {one.name for one in questions()}
    assert len(charts) >= len(asked)
    assert all(len(ET.fromstring(chart)) > 5 for chart in charts)  # noqa: S314 -- our own file


@pytest.mark.parametrize(
    ("values", "lengths"),
    [((10, 5, 0), (360, 180, 0)), ((-4, 2), (360, 180)), ((0, 0), (0, 0)), ((), ())],
)
def test_the_longest_bar_fills_the_chart(values: tuple[int, ...], lengths: tuple[int, ...]) -> None:
    chart = bars("Units <b>", [{"n": value, "k": "a&b"} for value in values], "n", "k")

    drawn = ET.fromstring(chart._repr_svg_())  # noqa: S314 -- made here
    rectangles = [part for part in drawn if part.tag.endswith("rect")]
    assert tuple(int(part.attrib["width"]) for part in rectangles) == lengths
    texts = [part.text for part in drawn if part.tag.endswith("text")]
    assert texts[0] == "Units <b>"
    colours = {part.attrib["fill"] for part in rectangles}
    assert len(colours) == len({value < 0 for value in values})


def test_labels_of_several_columns_are_joined_and_null_is_zero() -> None:
    chart = bars("", [{"a": "x", "b": 1, "n": None}], "n", "a", "b")

    assert chart.rows == (("x 1", 0),)
