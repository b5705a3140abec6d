"""The catalogue of Postgres agrees with `inventory.tables.catalogue`."""

import psycopg
import pytest

from inventory.tables.captured import COMMON, CapturedTable
from inventory.tables.catalogue import CAPTURED
from tests.ledger.rows import write

COLUMNS = """
SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
"""
TRIGGERS = "SELECT tgname FROM pg_trigger WHERE tgrelid = %s::regclass AND NOT tgisinternal"
IDENTITY = "SELECT relreplident::text FROM pg_class WHERE oid = %s::regclass"
RULES = """
SELECT p.proname FROM pg_proc p WHERE p.pronamespace = 'retail'::regnamespace
  AND p.proargtypes[0] = %s::regclass::text::regtype AND p.pronargs = 1
"""
PUBLISHED = "SELECT tablename FROM pg_publication_tables WHERE schemaname = 'retail'"


def by_name(table: CapturedTable) -> str:
    return table.name


@pytest.mark.parametrize("table", CAPTURED, ids=by_name)
def test_each_captured_table_has_the_columns_of_the_catalogue(
    till: psycopg.Connection, table: CapturedTable
) -> None:
    found: dict[str, str] = dict(till.execute(COLUMNS, [f"retail.{table.name}"]).fetchall())

    stated = {*COMMON, *table.columns}
    times = {(name, kind) for name, kind in found.items() if kind.startswith("timestamp")}
    assert found.items() >= stated
    # The decoder converts only columns that the catalogue lists as times.
    assert times <= stated


@pytest.mark.parametrize("table", CAPTURED, ids=by_name)
def test_each_captured_table_is_published_with_replica_identity_full(
    till: psycopg.Connection, table: CapturedTable
) -> None:
    relation = [f"retail.{table.name}"]

    triggers = {name for (name,) in till.execute(TRIGGERS, relation)}
    published = {name for (name,) in till.execute(PUBLISHED)}
    assert {"stamp_recorded_at", "refuse_rekeying"} <= triggers
    assert table.name in published
    assert till.execute(IDENTITY, relation).fetchone() == ("f",)


@pytest.mark.parametrize("table", CAPTURED, ids=by_name)
def test_sql_has_stock_functions_for_exactly_the_tables_that_change_stock(
    till: psycopg.Connection, table: CapturedTable
) -> None:
    rules = {name for (name,) in till.execute(RULES, [f"retail.{table.name}"])}

    assert ("movement_of" in rules) is table.has_movements
    assert ("inbound_of" in rules) is table.has_inbound


@pytest.mark.parametrize(
    "table", [table for table in CAPTURED if table.has_movements or table.has_inbound], ids=by_name
)
def test_a_row_that_changes_stock_makes_its_key_an_item(
    ledger: psycopg.Connection, table: CapturedTable
) -> None:
    write(ledger, table.name)

    found = ledger.execute("SELECT app.is_item('L|S')").fetchone()
    assert found == (True,), f"app.is_item must read retail.{table.name}, or a view with its rows"
