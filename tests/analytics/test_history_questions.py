"""Questions over a history like the demo's: imported sales, then live trade, and a warehouse."""

import random
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from analytics.history.duck import DuckHistory
from analytics.history.opened import Request, open_history
from analytics.history.questions import questions
from tests.analytics.histories import POLICY, START, Generated, _iso, _Writer
from tests.analytics.two_runs import Home, a_home
from webui.desks.history.wording import column_title
from webui.translation.recorded import ANSWERS, QUESTIONS

PAGE = Path(__file__).parents[2] / "docs" / "roles" / "analyst.md"
DAY = timedelta(days=1)
IMPORTED, WAREHOUSE = "WIEN-1|TEA-1", "DC-1|TEA-1"


def an_imported_history() -> Generated:
    """Return a sale of 40 days before the import, then two live sales, one of them an hour late."""
    history = Generated()
    writer = _Writer(random.Random(3), history)  # noqa: S311 -- seeded test data
    replayed = writer.row("item_location", IMPORTED, POLICY | {"clock_mode": "replayed"})
    writer.row("item_location", WAREHOUSE, POLICY)
    counted: dict[str, object] = {"units": 40, "kind": "opening", "status": "approved"}
    writer.row("stock_count", IMPORTED, counted | {"occurred_at": _iso(START - 60 * DAY)})
    writer.row("stock_count", WAREHOUSE, counted)
    _sell(writer, ago=40 * DAY)
    writer._now += timedelta(minutes=1)
    writer._emit("item_location", "u", IMPORTED, replayed, replayed | {"clock_mode": "live"})
    for ago in (timedelta(), timedelta(hours=1, minutes=1)):
        writer._now += DAY
        _sell(writer, ago=ago)
    return history


def _sell(writer: _Writer, *, ago: timedelta) -> None:
    at = _iso(writer._now - ago)
    line = {"source": "till", "source_ref": at, "quantity_units": 1, "amount_minor": 999}
    writer.row("sale_line", IMPORTED, line | {"condition": "resaleable", "occurred_at": at})


@pytest.fixture(name="home", scope="module")
def a_home_with_a_run(tmp_path_factory: pytest.TempPathFactory) -> Home:
    found = a_home(tmp_path_factory.mktemp("questions") / "home", an_imported_history())
    found.run()
    return found


@pytest.fixture(name="duck", scope="module")
def a_session(home: Home) -> Iterator[DuckHistory]:
    opened = open_history(home.settings, Request())
    found = DuckHistory(opened.files, opened.spill)
    yield found
    found.close()


def test_imported_sales_are_not_late(duck: DuckHistory) -> None:
    [row] = duck.ask("late_facts")

    assert (row["store"], row["sale_lines"]) == ("WIEN-1", 2)
    limits = ("over_20_minutes", "over_an_hour", "over_a_day", "over_three_days")
    assert [row[name] for name in limits] == [1, 1, 0, 0]
    assert row["longest_hours"] == 1


def test_slow_stock_leaves_out_locations_that_never_sell(duck: DuckHistory) -> None:
    held = duck.rows("SELECT store FROM states WHERE on_hand_units > 0 ORDER BY store")

    assert [row["store"] for row in held] == ["DC-1", "WIEN-1"]
    assert duck.ask("slow_stock") == []


def test_duckdb_has_the_get_json_object_function_of_spark(duck: DuckHistory) -> None:
    statement = 'SELECT get_json_object(\'{"a": {"b": "c"}}\', \'$.a.b\') AS found'

    assert duck.rows(statement) == [{"found": "c"}]


def test_pages_translate_every_question_and_the_columns_of_its_answer(duck: DuckHistory) -> None:
    answers = [answer for one in questions() for answer in duck.run(one.statement)]

    assert tuple(one.text for one in questions()) == QUESTIONS
    assert {column_title(name) for answer in answers for name in answer.columns} == {*ANSWERS}


def test_every_question_has_a_note_without_sql_comment_signs() -> None:
    notes: dict[str, Any] = {one.name: one.note for one in questions()}

    assert all(note.endswith(".") and "--" not in note for note in notes.values()), notes
    assert "If there are no rows, no price was reduced" in notes["promotion_uplift"]


def test_the_snippet_of_the_analyst_page_prints_the_rows(
    home: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    [snippet] = [block for block in blocks if "analytics.duck(" in block]
    monkeypatch.setenv("INVENTORY_HOME", str(home.settings.home))

    exec(snippet, {})  # noqa: S102 -- the page's own code is what is tested

    first, second = capsys.readouterr().out.splitlines()
    assert first == "0 []"
    assert "'store': 'DC-1'" in second
