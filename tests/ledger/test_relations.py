"""Postgres has every relation, function and column of `cdc.contracts.tables`."""

import psycopg
import pytest

from cdc.contracts.tables import COLUMNS, FUNCTIONS, RELATIONS

FOUND = """
SELECT n.nspname || '.' || c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'v', 'p')
"""
CALLABLE = """
SELECT n.nspname || '.' || p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
"""
TYPES = """
SELECT a.attname, format_type(a.atttypid, NULL) FROM pg_attribute a
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
"""
STATED = "SELECT format_type(%s::regtype, NULL)"


def test_every_relation_and_function_exists(till: psycopg.Connection) -> None:
    relations = {found for (found,) in till.execute(FOUND)}
    functions = {found for (found,) in till.execute(CALLABLE)}

    assert sorted(RELATIONS - relations) == []
    assert sorted(FUNCTIONS - functions) == []


@pytest.mark.parametrize("table", COLUMNS)
def test_every_column_exists_with_its_type(till: psycopg.Connection, table: str) -> None:
    found: dict[str, str] = dict(till.execute(TYPES, [table]).fetchall())

    stated = {
        name: till.execute(STATED, [kind]).fetchone() for name, kind in COLUMNS[table].items()
    }
    assert {name: (found.get(name),) for name in stated} == stated
