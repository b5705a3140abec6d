"""The table of needs over many keys: statements read few rows, and totals count every need."""

import psycopg
from django.utils import translation

from tests.ledger.inbox import level, state
from tests.ledger.rows import reorder_proposal
from tests.ledger.test_reorders_table import need
from tests.ledger.test_stock_list_plans import scans
from webui.desks.reorders.queries import name_of
from webui.desks.reorders.table import Total, Wanted, need_page

MANY_NEEDS = """
INSERT INTO {table} SELECT (jsonb_populate_record(o, jsonb_build_object('sku', 'N' || n,
    'inv_key', 'L|N' || n, 'reorder_id', 'R:L|N' || n || ':1-2'))).*
FROM {table} o, generate_series(1, %s) AS n
"""


def test_the_needs_page_reads_stock_once_per_need_and_twice_per_shown_need(
    ledger: psycopg.Connection,
) -> None:
    reorder_proposal(ledger)
    level(ledger, state())
    for table in ("read_model.stock", "app.reorder_proposal"):
        ledger.execute(MANY_NEEDS.format(table=table), (2_000,))
        ledger.execute(f"VACUUM ANALYZE {table}")

    rows = sum(rows for _, _, rows in scans(lambda: need_page(Wanted("open"), 10)))

    assert rows == 2_001 + 10


def test_order_and_totals_of_needs_are_read_from_indexes(ledger: psycopg.Connection) -> None:
    reorder_proposal(ledger)
    level(ledger, state())
    ledger.execute(
        "INSERT INTO retail.item_location (inv_key, location, sku, status)"
        " SELECT 'L|N' || n, 'L', 'N' || n, 'active' FROM generate_series(1, 6000) AS n"
    )
    ledger.execute(MANY_NEEDS.format(table="read_model.stock"), (6_000,))
    ledger.execute(MANY_NEEDS.format(table="app.reorder_proposal"), (100,))
    for table in ("read_model.stock", "app.reorder_proposal", "retail.item_location"):
        ledger.execute(f"VACUUM ANALYZE {table}")

    found = [
        *scans(lambda: need_page(Wanted("open"), 10)),
        *scans(lambda: need_page(Wanted("open"), 10), "item_location"),
    ]

    only = {(index, round(rows)) for node, index, rows in found if node == "Index Only Scan"}
    assert {("stock_list", 101), ("item_location_needs", 100)} <= only
    assert round(sum(rows for _, _, rows in found)) == 101 + 10 + 100 + 10


def test_pages_of_a_section_have_the_totals_of_all_needs(ledger: psycopg.Connection) -> None:
    for number in range(12):
        flags = ["cover_over_guard"] if number % 3 == 0 else []
        need(ledger, number, flags=flags, quantity_units=6 * (number % 4))
    every = need_page(Wanted("open"), 100)
    look_at, routine = ([row for row in every.rows if row.section == section] for section in (0, 1))

    shown, place = [], ""
    while page := need_page(Wanted("open", after=place), 3).rows:
        assert need_page(Wanted("open", after=place), 3).totals == every.totals
        shown += [row for row in page if row.section == 1]
        place = shown[-1].cursor

    assert shown == routine
    assert every.totals == [
        Total(section, len(rows), sum(row.value_minor for row in rows))
        for section, rows in ((0, look_at), (1, routine))
    ]
    assert [(row.urgency, -row.value_minor, row.reorder_id) for row in routine] == sorted(
        (row.urgency, -row.value_minor, row.reorder_id) for row in routine
    )
    only = Wanted("open", after=look_at[1].cursor)
    assert need_page(only, 100).rows == look_at[2:]
    assert need_page(Wanted("open", after=routine[-1].cursor), 3).rows == []


def test_a_result_names_item_and_location_in_the_language_of_the_page(
    ledger: psycopg.Connection,
) -> None:
    mine = need(ledger, 1)
    with translation.override("en"):
        english = name_of(mine)
    with translation.override("de"):
        german = name_of(mine)

    assert " at " in english
    assert german == english.replace(" at ", " in ")
    assert name_of("gone") == "gone"
