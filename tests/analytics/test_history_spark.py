"""Spark answers questions over the tables as DuckDB does, also in a session of the caller."""

import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

import analytics
from analytics.archive.names import LOCK
from analytics.archive.rows import SCHEMA
from analytics.engines.spark import choose_python
from analytics.history.catalogue import BY_NAME
from analytics.history.columns import ARROW
from analytics.history.duck import DuckHistory
from analytics.history.opened import History, Request, open_history
from analytics.history.questions import Question, UnknownQuestion, question, questions
from analytics.history.spark_views import _TYPES, _literal
from tests.analytics.trade import images, six_weeks
from tests.analytics.two_runs import Home, a_home

PAGE = Path(__file__).parents[2] / "docs" / "roles" / "analyst.md"
TRADE = six_weeks()
Rows = list[tuple[Any, ...]]
# Questions whose plan takes Spark several seconds. The other questions run in the same way.
LONG = {"forecast_error", "late_facts", "price_elasticity", "promotion_uplift"}


@pytest.fixture(name="home", scope="module")
def a_home_of_the_module(tmp_path_factory: pytest.TempPathFactory) -> Home:
    # Spark and DuckDB use some of these characters in patterns.
    found = a_home(tmp_path_factory.mktemp("questions") / "home [a]{1,2}*?", TRADE)
    found.run()
    return found


@pytest.fixture(name="history", scope="module")
def a_history(home: Home) -> History:
    return open_history(home.settings, Request())


@pytest.fixture(name="duck", scope="module")
def a_duck(history: History, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DuckHistory]:
    found = DuckHistory(history.files, tmp_path_factory.mktemp("spill") / "spill")
    yield found
    found.close()


@pytest.fixture(name="spark", scope="module")
def a_session(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    scratch = tmp_path_factory.mktemp("spark")
    conf = {
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        # A session of a user may have any time zone. No answer depends on it.
        "spark.sql.session.timeZone": "Etc/GMT+12",
        # A question reads a few hundred rows, so optimised compilation would take most of the time.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("PYSPARK_DRIVER_PYTHON", sys.executable)
        found = analytics.spark(home=home.settings.home, master="local[2]", conf=conf)
        yield found
        found.stop()


def of_duck(duck: DuckHistory, statement: str) -> tuple[tuple[str, ...], Rows]:
    [answer] = duck.run(statement)
    return answer.columns, list(answer.rows())


def of_spark(session: Any, statement: str) -> tuple[tuple[str, ...], Rows]:
    found = session.sql(statement)
    return tuple(found.columns), [
        tuple(cell.astimezone(UTC) if isinstance(cell, datetime) else cell for cell in row)
        for row in found.collect()
    ]


@pytest.mark.engines
@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(one, id=one.name, marks=pytest.mark.soak if one.name in LONG else ())
        for one in questions()
    ],
)
def test_a_question_has_the_same_answer_in_duckdb_and_spark(
    duck: DuckHistory, spark: Any, asked: Question
) -> None:
    columns, rows = of_duck(duck, asked.statement)

    assert of_spark(spark, asked.statement) == (columns, rows)
    assert rows
    assert not any(isinstance(cell, float) for row in rows for cell in row)


@pytest.mark.engines
def test_every_table_has_its_rows_and_types_in_spark(
    duck: DuckHistory, spark: Any, history: History
) -> None:
    counts = " UNION ALL ".join(
        f"SELECT '{name}' AS name, count(*) AS n FROM {name}"  # noqa: S608 -- own names
        for name in history.files
    )
    assert sorted(of_spark(spark, counts)[1]) == sorted(of_duck(duck, counts)[1])
    for name in history.files:
        found = [(field.name, field.dataType.simpleString()) for field in spark.table(name).schema]
        assert found == [
            (column.name, _TYPES[column.kind].lower()) for column in BY_NAME[name].columns
        ]


@pytest.mark.engines
def test_the_archive_is_one_data_set_for_spark_with_its_partition_column(
    home: Home, spark: Any
) -> None:
    archive = home.settings.archive_dir
    (archive / LOCK).touch()
    (archive / "partition=0" / ".seq-000000000000-000000000009.7.tmp").write_bytes(b"half a file")

    found = spark.read.parquet(_literal(str(archive)))

    counted = [tuple(row) for row in found.groupBy("partition").count().collect()]
    expected = Counter[int]()
    for file in home.manifest.all_files():
        expected[file.partition] += file.rows
    assert dict(counted) == expected
    assert set(found.columns) == set(SCHEMA.names)


@pytest.mark.engines
def test_values_of_every_type_are_equal_in_duckdb_and_spark(duck: DuckHistory, spark: Any) -> None:
    for statement in (
        "SELECT * FROM sales ORDER BY id",
        "SELECT * FROM orders ORDER BY id",
        "SELECT * FROM states ORDER BY inv_key",
        "SELECT * FROM prices ORDER BY id, revision",
        "SELECT unix_micros(committed_at) AS micros, key, value FROM log ORDER BY key, log.offset",
    ):
        assert of_spark(spark, statement) == of_duck(duck, statement)


@pytest.mark.engines
def test_a_running_session_is_reused_and_keeps_its_settings(
    home: Home, spark: Any, tmp_path: Path
) -> None:
    other = a_home(tmp_path / "home", six_weeks(days=2))

    again = analytics.spark(
        None,
        home=other.settings.home,
        conf={"spark.sql.shuffle.partitions": "3"},
        master="local[1]",
    )

    assert again is spark
    assert again.sparkContext.master == "local[2]"
    assert again.conf.get("spark.sql.shuffle.partitions") == "3"
    sold = again.sql("SELECT sum(quantity_units) FROM sales").first()[0]
    analytics.spark(home=home.settings.home, conf={"spark.sql.shuffle.partitions": "1"})
    assert sold == sum(row["quantity_units"] for row in images(six_weeks(days=2), "sale_line"))


@pytest.mark.engines
def test_the_snippet_of_the_analyst_page_runs(
    home: Home, spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    [snippet] = [block for block in blocks if "analytics.spark(" in block]
    monkeypatch.setenv("INVENTORY_HOME", str(home.settings.home))
    known: dict[str, Any] = {}

    with redirect_stdout(StringIO()) as printed:
        exec(snippet, known)  # noqa: S102 -- the page's own code is what is tested

    assert known["spark"] is spark
    assert "sum(units)" in printed.getvalue()


def test_the_import_of_analytics_loads_neither_spark_nor_arrow() -> None:
    code = (
        "import sys, analytics; print(sorted({'pyspark', 'pyarrow', 'duckdb'} & set(sys.modules)))"
    )

    done = subprocess.run(  # noqa: S603 -- this interpreter
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("set_by_user", "used"),
    [("/opt/python", "/opt/python"), ("", sys.executable), (None, sys.executable)],
)
@pytest.mark.parametrize("name", ["PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"])
def test_a_python_for_pyspark_set_by_the_user_is_used(
    monkeypatch: pytest.MonkeyPatch, name: str, set_by_user: str | None, used: str
) -> None:
    for variable in ("PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"):
        monkeypatch.setenv(variable, "")
    if set_by_user is None:
        monkeypatch.delenv(name)
    else:
        monkeypatch.setenv(name, set_by_user)

    choose_python()

    assert os.environ[name] == used


def test_every_type_of_the_catalogue_has_a_type_in_spark() -> None:
    assert _TYPES.keys() == ARROW.keys()


def test_there_are_ten_questions_that_end_with_a_question_mark() -> None:
    assert len(questions()) == 10
    assert {one.text[-1] for one in questions()} == {"?"}
    with pytest.raises(UnknownQuestion, match=r"'nope': expected one of forecast_error, "):
        question("nope")


def test_sell_through_equals_a_sum_over_the_sale_lines(duck: DuckHistory) -> None:
    sold: dict[tuple[str, str], int] = {}
    for row in images(TRADE, "sale_line"):
        key = (row["location"], row["sku"])
        sold[key] = sold.get(key, 0) + row["quantity_units"]

    rows = of_duck(duck, question("sell_through").statement)[1]

    assert {(row[0], row[1]): row[2] for row in rows} == sold
    for _store, _sku, units, on_hand, permille in rows:
        assert permille == 1000 * units // (units + max(0, on_hand))


def test_supplier_figures_equal_sums_over_orders_and_receipts(duck: DuckHistory) -> None:
    orders = {row["id"]: row for row in images(TRADE, "purchase_order_line")}
    receipts = {row["purchase_order_line_id"]: row for row in images(TRADE, "shipment_line")}
    expected = []
    for supplier in ("ACME", "BORG"):
        mine = {number: row for number, row in orders.items() if row["supplier"] == supplier}
        got = [receipts[number] for number in mine]
        on_time = [
            receipts[number]["received_at"][:10] <= row["due_on"] for number, row in mine.items()
        ]
        seconds = [
            _seconds(receipts[number]["received_at"]) - _seconds(row["ordered_at"])
            for number, row in mine.items()
        ]
        ordered = sum(row["ordered_units"] for row in mine.values())
        received = sum(row["received_units"] for row in got)
        damaged = sum(row["damaged_units"] for row in got)
        lines = len(mine)
        shares = (1000 * received // ordered, 1000 * sum(on_time) // lines)
        lead = sum(seconds) // (3600 * lines)
        expected.append((supplier, lines, lines, ordered, received, damaged, *shares, lead))

    assert of_duck(duck, question("suppliers").statement)[1] == expected


def test_seasonality_adds_up_to_the_sales_that_windows_count(duck: DuckHistory) -> None:
    cells = of_duck(duck, question("seasonality").statement)[1]
    [(counted,)] = of_duck(duck, "SELECT sum(sold_units) FROM windows")[1]

    assert sum(row[2] for row in cells) == counted
    assert len({(row[0], row[1]) for row in cells}) == len(cells)
    weekend = sum(row[2] for row in cells if row[0] >= 6) / 2
    assert weekend > sum(row[2] for row in cells if row[0] < 6) / 5


def test_late_facts_equal_the_delays_of_the_sale_lines(duck: DuckHistory) -> None:
    rows = {row[0]: row for row in of_duck(duck, question("late_facts").statement)[1]}

    for store in ("BERLIN-1", "GRAZ-2", "WIEN-1"):
        lines = [row for row in images(TRADE, "sale_line") if row["location"] == store]
        delays = [_seconds(row["recorded_at"]) - _seconds(row["occurred_at"]) for row in lines]
        limits = (1200, 3600, 86_400, 259_200)
        counts = [sum(delay > limit for delay in delays) for limit in limits]
        assert list(rows[store][1:7]) == [len(lines), *counts, max(delays) // 3600]
    assert (
        sum(row[9] for row in rows.values())
        == of_duck(duck, "SELECT sum(units) FROM late")[1][0][0]
    )


def test_shrink_by_reason_equals_a_sum_over_the_adjustments(duck: DuckHistory) -> None:
    signs = {"theft": 1, "damage": 1, "waste": 1, "found": -1}
    expected: dict[tuple[str, str], int] = {}
    for row in images(TRADE, "stock_adjustment"):
        key = (row["location"], row["reason"])
        expected[key] = expected.get(key, 0) + signs[row["reason"]] * row["quantity_units"]

    rows = of_duck(duck, question("shrink").statement)[1]

    assert {(row[0], row[1]): row[3] for row in rows if row[1] != "cycle"} == expected


def test_a_promotion_is_compared_with_as_many_days_before(duck: DuckHistory) -> None:
    rows = of_duck(duck, question("promotion_uplift").statement)[1]

    assert [(row[0], row[2], row[5]) for row in rows] == [("WIEN-1", 1, 240)] * 4
    for _store, sku, _step, _price, begins, hours, before, during, uplift in rows:
        start, span = begins.timestamp(), hours * 3600
        sold = {True: 0, False: 0}
        for line in images(TRADE, "sale_line"):
            at = _seconds(line["occurred_at"])
            is_near = start - span <= at < start + span and line["quantity_units"] > 0
            if line["inv_key"] == f"WIEN-1|{sku}" and is_near:
                sold[at >= start] += line["quantity_units"]
        assert (before, during) == (sold[False], sold[True])
        assert uplift == (math.floor(1000 * (during - before) / before) if before else None)


def _seconds(text: str) -> int:
    return int(datetime.fromisoformat(text).timestamp())
