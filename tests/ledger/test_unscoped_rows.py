"""Rows of a query become objects: a field gets the value of the column with its name."""

from dataclasses import dataclass

import psycopg
import pytest

from ledger.kernel.unscoped_rows import read_all, read_one


@dataclass(frozen=True, slots=True)
class Pack:
    """The pack of an item."""

    sku: str
    pack_units: int
    is_known: bool = True


def test_columns_without_a_field_are_left_out(ledger: psycopg.Connection) -> None:
    found = read_one(Pack, "SELECT 'S' AS sku, %s::bigint AS pack_units, 7 AS further", 6)

    assert found == Pack("S", 6)


def test_a_field_without_a_column_needs_a_default(ledger: psycopg.Connection) -> None:
    with pytest.raises(TypeError, match="pack_units"):
        read_one(Pack, "SELECT 'S' AS sku, 6 AS packunits")


def test_rows_come_in_the_order_of_the_query(ledger: psycopg.Connection) -> None:
    rows = "(VALUES ('S', 6), ('T', 1)) AS known (sku, pack_units)"

    found = read_all(Pack, f"SELECT sku, pack_units FROM {rows} ORDER BY pack_units")  # noqa: S608 -- a literal above

    assert found == [Pack("T", 1), Pack("S", 6)]


def test_a_query_without_a_row_gives_none(ledger: psycopg.Connection) -> None:
    assert read_one(Pack, "SELECT 'S' AS sku, 6 AS pack_units WHERE false") is None
