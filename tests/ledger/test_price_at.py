"""One SQL function returns the price in force, fast enough for each row of a list."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from psycopg import sql

import ledger as ledger_package
import webui
from ledger.kernel.rows import select_value
from tests.ledger.inbox import level, put, state
from webui.readmodel.figures import PRICE_SQL
from webui.readmodel.stock import stock_rows

AT = datetime(2026, 3, 2, 12, tzinfo=UTC)
INSTANT = timedelta(microseconds=1)


def price(ledger: psycopg.Connection, price_minor: int, effective_from: datetime) -> None:
    put(
        ledger,
        "retail.price_change",
        inv_key="L|S",
        location="L",
        sku="S",
        kind="manual",
        floor_minor=1,
        price_minor=price_minor,
        effective_from=effective_from,
    )


@pytest.mark.parametrize(
    ("instant", "expected"),
    [
        (AT - INSTANT, None),
        (AT, 899),
        (AT + timedelta(hours=1) - INSTANT, 899),
        (AT + timedelta(hours=1), 799),
    ],
)
def test_price_at_returns_the_later_row_of_two_with_the_same_start(
    ledger: psycopg.Connection, instant: datetime, expected: int | None
) -> None:
    price(ledger, 999, AT)
    price(ledger, 899, AT)
    price(ledger, 799, AT + timedelta(hours=1))

    found = ledger.execute("SELECT price_minor FROM retail.price_at('L|S', %s)", [instant])

    assert found.fetchall() == ([] if expected is None else [(expected,)])


def test_stock_list_shows_the_current_price_and_not_the_scheduled_one(
    ledger: psycopg.Connection,
) -> None:
    now = select_value("SELECT clock_timestamp()")
    level(ledger, state())
    price(ledger, 899, now - timedelta(seconds=1))
    price(ledger, 799, now + timedelta(hours=1))

    assert [row.price_minor for row in stock_rows(["L|S"])] == [899]


def test_lists_find_the_price_of_a_row_by_one_probe_of_an_index(
    ledger: psycopg.Connection,
) -> None:
    # Postgres scans a small table sequentially. Turn this off to get the plan for a large one.
    ledger.execute("SET enable_seqscan = off")
    ledger.execute("SET enable_sort = off")

    plan = ledger.execute(
        sql.SQL("EXPLAIN SELECT {} FROM read_model.stock s").format(sql.SQL(PRICE_SQL))
    )

    told = " ".join(line for (line,) in plan)
    # Postgres has inlined the function. Otherwise the plan would have a Function Scan and no index.
    assert "using price_change_key on price_change" in told
    assert "(effective_from <= statement_timestamp())" in told
    assert "Function Scan" not in told


def test_price_in_force_condition_is_defined_only_in_one_migration() -> None:
    packages = (ledger_package, webui)
    sources = (
        path for package in packages for path in Path(str(package.__file__)).parent.rglob("*.py")
    )
    compared = re.compile(r"effective_from <= ")

    found = [path.name for path in sources if compared.search(path.read_text(encoding="utf-8"))]

    assert found == ["0016_price_at.py"]
