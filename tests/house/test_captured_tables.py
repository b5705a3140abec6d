"""Every other list of the captured tables agrees with `inventory.tables.catalogue`.

These are docs/domain.md 2.6, the second model, the golden messages and the stores' rights.
"""

import re
from collections.abc import Iterator

import pytest

from inventory.tables.captured import COMMON, CapturedTable
from inventory.tables.catalogue import CAPTURED
from ledger.access.narrowing import COMPANY, CONDITIONS
from tests.golden.recorder import INSERTS
from tests.house.domain_page import table as table_of_page
from tests.ledger.limits import CHOICES, REQUIRED
from tests.ledger.rows import VALID
from tests.oracle import columns as second_model


def by_name(table: CapturedTable) -> str:
    return table.name


def columns_of_page() -> Iterator[tuple[str, list[str]]]:
    """Yield each row of 2.6 with its table. A row that begins with … continues the one before."""
    name = ""
    for first, columns in table_of_page("2.6").rows:
        name = name if first.startswith("…") else re.findall(r"`(\w+)`", first)[0]
        yield name, re.findall(r"`(\w+)[^`]*`", re.sub(r"\([^)]*\)", "", columns))


@pytest.mark.domain("2.6 *")
@pytest.mark.parametrize("table", CAPTURED, ids=by_name)
def test_the_page_lists_the_columns_in_order(table: CapturedTable) -> None:
    listed = [
        column for name, columns in columns_of_page() if name == table.name for column in columns
    ]

    assert listed == [name for name, _ in table.columns]


def test_every_list_of_tables_has_the_captured_ones() -> None:
    names = {table.name for table in CAPTURED}

    assert {name for name, _ in columns_of_page()} == names
    assert second_model.TABLES.keys() == names
    assert INSERTS.keys() == names  # a golden message each
    assert VALID.keys() == names
    assert {f"retail.{name}" for name in names} <= COMPANY | CONDITIONS.keys()


@pytest.mark.parametrize("table", CAPTURED, ids=by_name)
def test_the_second_model_reads_columns_of_the_table(table: CapturedTable) -> None:
    known = {name for name, _ in (*COMMON, *table.columns)}

    assert second_model.TABLES[table.name].keys() <= known


def test_the_limits_have_each_required_column_and_each_choice() -> None:
    columns = [
        ((table, name), column)
        for table, found in second_model.TABLES.items()
        for name, column in found.items()
    ]
    # The status of a shipment depends on its times, so it has cases of its own.
    choices = {place for place, column in columns if column.choices}
    choices -= {("shipment_line", "status")}

    assert {place for place, column in columns if column.required} - set(REQUIRED) == set()
    assert choices - CHOICES.keys() == set()
