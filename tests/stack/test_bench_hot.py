"""`inventory bench hot` on a running stack finds each of its sales, and drops its schema."""

import json

import psycopg
import pytest

from bench import hot
from bench.errors import BenchFailed
from deploy.stack.services.postgres_programs import packaged
from tests.stack.running import RunningStack

_SOLD = """
SELECT count(*) FROM retail.sale_line GROUP BY location HAVING location LIKE 'BENCH-%'
    AND max(inv_key) = location || '|I1' AND min(inv_key) = location || '|I1'
"""


def test_the_hot_bench_finds_every_checkout_of_both_sides_in_the_stock(stack: RunningStack) -> None:
    options = ("--clients", "4", "--seconds", "1", "--items", "1", "--json")

    done = stack.cli("bench", "hot", *options)

    assert done.returncode == 0, done.stderr
    assert ", commit " in done.stderr
    report = json.loads(done.stdout)
    assert [row["side"] for row in report["blocks"]] == ["log", "row", "row", "log"]
    [ratio] = report["ratios"]
    assert ratio["rate"] > 0
    with psycopg.connect(stack.settings.owner_database_url.get_secret_value()) as connection:
        sold = {count for (count,) in connection.execute(_SOLD)}
        [(left,)] = connection.execute("SELECT to_regnamespace('bench_hot')").fetchall()
    logged = {row["transactions"] for row in report["blocks"] if row["side"] == "log"}
    assert logged <= sold
    assert left is None


def test_the_hot_bench_fails_if_the_stock_misses_a_sale(stack: RunningStack) -> None:
    bench = hot._Bench(hot.Plan(packaged() / "pgbench"), stack.settings)

    with hot._row_tables(stack.settings), pytest.raises(BenchFailed, match="7 units were sold"):
        bench._compare(hot.ROW, 7)
