"""Every other list of the captured tables agrees with `inventory.tables.catalogue`.

The lists are in docs/domain.md 2.6, the second model, the golden messages, the valid test rows and
the rules that narrow a query to a person's stores.
"""

import re
from collections.abc import Iterator

import pytest

from inventory.log.validation import HEARTBEAT_TABLE
from inventory.tables.captured import COMMON, CapturedTable
from inventory.tables.catalogue import CAPTURED
from ledger.access.narrowing import COMPANY, CONDITIONS
from ledger.automation.conditions import SOURCE_CLOCK
from tests.golden.recorder import INSERTS
from tests.house.domain_page import table as table_of_page
from tests.ledger.limits import CHOICES, REQUIRED
from tests.ledger.rows import VALID
from tests.oracle import columns as second_model


def by_name(table: CapturedTable) -> str:
    return table.name


def columns_of_page() -> Iterator[tuple[str, list[str]]]:
    """Yield (table, columns) per row of 2.6. A row that begins with … continues the one before."""
    name = ""
    for first, columns in table_of_page("2.6").rows:
        name = name if first.startswith("…") else re.findall(r"`(\w+)`", first)[0]
        yield name, re.findall(r"`(\w+)[^`]*`", re.sub(r"\([^)]*\)", "", columns))


@pytest.mark.domain("2.6 *")
@pytest.mark.parametrize("table", CAPTURED, ids=by_name)
def test_the_domain_page_lists_the_columns_of_a_captured_table_in_order(
    table: CapturedTable,
) -> None:
    listed = [
        column for name, columns in columns_of_page() if name == table.name for column in columns
    ]

    assert listed == [name for name, _ in table.columns]


def test_every_list_of_captured_tables_is_complete() -> None:
    names = {table.name for table in CAPTURED}

    lists = {
        "docs/domain.md 2.6": {name for name, _ in columns_of_page()},
        "TABLES of tests/oracle/columns.py": set(second_model.TABLES),
        "INSERTS of tests/golden/recorder.py": set(INSERTS),
        "VALID of tests/ledger/rows.py": set(VALID),
    }
    declared = COMPANY | CONDITIONS.keys()
    lists["ledger/access/narrowing.py"] = {name for name in names if f"retail.{name}" in declared}

    # The tables that are missing in a list, or are only there.
    assert {place: found ^ names for place, found in lists.items() if found != names} == {}


def test_the_history_finds_the_business_time_of_each_table_with_movements() -> None:
    without = {
        table.name
        for table in CAPTURED
        if table.has_movements and "occurred_at" not in dict(table.columns)
    }

    assert without == {"shipment_line"}, "name the column of the business time `occurred_at`"


def test_the_task_of_wrong_clocks_reads_each_table_with_a_business_time() -> None:
    timed = {
        f"retail.{table.name}"
        for table in CAPTURED
        if "occurred_at" in dict(table.columns) and table.name != HEARTBEAT_TABLE
    }

    read = set(re.findall(r"FROM (retail\.\w+)", SOURCE_CLOCK))
    assert timed - read == set(), "add it to SOURCE_CLOCK of ledger/automation/conditions.py"


@pytest.mark.parametrize("table", CAPTURED, ids=by_name)
def test_the_second_model_reads_columns_of_the_table(table: CapturedTable) -> None:
    known = {name for name, _ in (*COMMON, *table.columns)}

    assert second_model.TABLES[table.name].keys() <= known


def test_the_limit_tests_cover_each_required_column_and_each_choice() -> None:
    columns = [
        ((table, name), column)
        for table, found in second_model.TABLES.items()
        for name, column in found.items()
    ]
    # The status of a shipment depends on its times, so it has cases of its own.
    choices = {place for place, column in columns if column.choices}
    choices -= {("shipment_line", "status")}

    required = {place for place, column in columns if column.required}
    assert required - set(REQUIRED) == set(), "add it to REQUIRED of tests/ledger/limits.py"
    assert choices - CHOICES.keys() == set(), "add it to CHOICES of tests/ledger/limits.py"
