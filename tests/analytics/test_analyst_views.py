"""The code of the analyst page, run by Spark on results of the local engine."""

import os
import re
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from analytics import analyst_views
from analytics.backfill.plan import make_plan
from analytics.backfill.run import RunReport, execute
from analytics.engines.results import STATES, read_rows
from cdc.contracts.state import decode_state, encode_state
from inventory.model.ids import InvKey, Position
from inventory.model.state import KeyState
from tests.analytics.histories import PARTITIONS, archived, generate

pytestmark = pytest.mark.engines
PAGE = Path(__file__).parents[2] / "docs" / "roles" / "analyst.md"


@pytest.fixture(name="run", scope="module")
def a_run(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    home = tmp_path_factory.mktemp("run")
    manifest = archived(home / "archive", generate(seed=11))
    ends = {number: manifest.next_offset(number) for number in range(PARTITIONS)}
    return execute(make_plan(manifest, engine="local", ends=ends), home / "runs")


def states(run: RunReport) -> list[KeyState]:
    rows = (row for unit in run.rows for row in read_rows(unit, STATES))
    return [decode_state(content) for _key, _offset, content in rows]


def contents(run: RunReport) -> list[bytes]:
    return [row[2] for unit in run.rows for row in read_rows(unit, STATES)]


def test_window_rows_have_the_sold_units_of_the_states(run: RunReport) -> None:
    rows = [row for content in contents(run) for row in analyst_views.window_rows(content)]

    named = [dict(zip(analyst_views.WINDOW_COLUMNS, row, strict=True)) for row in rows]
    held = {
        (state.inv_key, at): row.sold_units
        for state in states(run)
        for at, row in state.windows.items()
        if row.had_line
    }
    assert held
    assert {(row["inv_key"], row["start_us"]): row["sold_units"] for row in named} == held


def test_sessions_and_hops_add_up_to_the_windows_they_cover(run: RunReport) -> None:
    for content in contents(run):
        state = decode_state(content)
        sold = {at: row.sold_units for at, row in state.windows.items()}
        assert sum(row[3] for row in analyst_views.session_rows(content)) == sum(sold.values())
        for row in analyst_views.hop_rows(content):
            found: dict[str, Any] = dict(zip(analyst_views.HOP_COLUMNS, row, strict=True))
            inside = [sold[at] for at in sold if found["start_us"] <= at < found["end_us"]]
            assert found["units"] == sum(inside)


def test_a_key_without_stream_time_has_no_hop_rows() -> None:
    assert list(analyst_views.hop_rows(encode_state(KeyState(InvKey("L|S"), Position(1, 2))))) == []


def test_the_snippet_of_the_analyst_page_runs_on_a_run_of_the_local_engine(run: RunReport) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    snippet = re.sub(r"run = Path\([^)]*\)", "run = RUN", blocks[0])
    assert "RUN" in snippet
    known: dict[str, Any] = {"RUN": run.directory}

    loopback = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    with mock.patch.dict(os.environ, loopback), redirect_stdout(StringIO()):
        exec(snippet, known)  # noqa: S102 -- the page's own code is what is tested

    sessions = known["sessions"]
    try:
        found = sorted(map(tuple, sessions.collect()))
    finally:
        known["spark"].stop()
    assert found == sorted(
        row for content in contents(run) for row in analyst_views.session_rows(content)
    )
    assert len(found) > 0
