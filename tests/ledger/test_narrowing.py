"""Queries of pages read only rows of the person's stores. Undeclared tables are refused."""

from dataclasses import dataclass

import psycopg
import pytest

from ledger.access.narrowing import COMPANY, CONDITIONS, UndeclaredRelation, narrowed
from ledger.access.scope import EVERYWHERE, OutOfScope, Scope, bound, current, within
from ledger.kernel.rows import select, select_value
from tests.ledger.inbox import level, state

MINE = Scope(everywhere=False, stores=frozenset({"L"}))
# Tables that no page reads by store: Debezium's signals, regions and webhooks. Only operators of
# every store see these. The API reads the webhooks of the token's owner.
NEVER_ON_PAGES = {"retail.debezium_signal", "app.location_region", "app.webhook"}


def test_every_table_and_view_with_a_location_has_a_store_condition(
    ledger: psycopg.Connection,
) -> None:
    found = ledger.execute(
        "SELECT n.nspname || '.' || c.relname, bool_or(a.attname IN ('location', 'inv_key'))"
        " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped"
        " WHERE n.nspname IN ('retail', 'read_model', 'app') AND c.relkind IN ('r', 'v', 'p')"
        " GROUP BY 1"
    ).fetchall()

    located = {name for name, is_located in found if is_located}

    assert located - CONDITIONS.keys() <= {*NEVER_ON_PAGES, "retail.pipeline_heartbeat"}
    assert {*COMPANY, *CONDITIONS} <= {name for name, _ in found}


def test_narrowed_query_keeps_the_alias_or_name_of_each_relation() -> None:
    one = narrowed("SELECT 1 FROM read_model.stock s JOIN retail.product p ON p.code = s.sku")
    other = narrowed("SELECT 1 FROM retail.stock_count WHERE stock_count.id = 1")

    assert one == (
        "SELECT 1 FROM (SELECT * FROM read_model.stock mine"
        " WHERE location = ANY(%(scope_stores)s)) AS s JOIN retail.product p ON p.code = s.sku"
    )
    assert other == (
        "SELECT 1 FROM (SELECT * FROM retail.stock_count mine"
        " WHERE location = ANY(%(scope_stores)s)) AS stock_count WHERE stock_count.id = 1"
    )


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM retail.new_table",
        "SELECT 1 FROM stock_count c",
        "SELECT 1 FROM retail.product p JOIN stock_count c ON c.sku = p.code",
        "SELECT app.new_function(1)",
        "SELECT 1 FROM retail.product, retail.stock_count",
        "SELECT * FROM app.membership",
    ],
)
def test_query_of_an_undeclared_table_or_function_is_refused(sql: str) -> None:
    with pytest.raises(UndeclaredRelation, match="is not declared"):
        narrowed(sql)


def test_a_key_or_location_of_another_store_is_refused_before_the_query(database: str) -> None:
    with within(MINE):
        for parameters in ({"key": "M|S"}, {"location": "M"}):
            with pytest.raises(OutOfScope, match="not one of your"):
                select_value("SELECT 1", parameters)
        assert select_value("SELECT 1", {"key": "L|S", "location": "L"}) == 1


def test_aggregate_query_counts_only_rows_of_own_stores(ledger: psycopg.Connection) -> None:
    level(ledger, state())
    with within(Scope(everywhere=False, stores=frozenset({"M"}))):
        assert select_value("SELECT count(*) FROM read_model.stock") == 0
    with within(MINE):
        assert select_value("SELECT count(*) FROM read_model.stock") == 1
    with within(EVERYWHERE):
        assert select_value("SELECT count(*) FROM read_model.stock") == 1


def test_select_raises_on_a_column_that_the_row_class_lacks(database: str) -> None:
    @dataclass
    class Shown:
        name: str

    with pytest.raises(TypeError, match="password"):
        select("SELECT 'ann' AS name, 'x' AS password", {}, Shown)


def test_a_streamed_body_keeps_the_scope_of_its_request() -> None:
    body = bound((current() for _ in range(2)), MINE)

    assert [next(body), current(), next(body), current()] == [MINE, EVERYWHERE, MINE, EVERYWHERE]
