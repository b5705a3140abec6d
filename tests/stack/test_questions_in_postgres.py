"""Questions over the history of a running stack have the answers that SQL over the facts gives."""

from collections.abc import Iterator

import psycopg
import pytest

from analytics.backfill.run import run
from analytics.history.duck import DuckHistory
from analytics.history.opened import Request, open_history
from analytics.history.questions import question, questions
from analytics.verify import verify
from tests.analytics.shop import Shop
from tests.stack.questions_in_sql import IN_SQL
from tests.stack.running import RunningStack

pytestmark = pytest.mark.soak
Rows = list[tuple[object, ...]]

# Delays differ from the questions' limits by half a minute or half a day, so that the time between
# this statement and a question can't change an answer.
MORE = """
INSERT INTO retail.item_location (inv_key, location, sku, status, replenish_family,
    reorder_point_units, order_up_to_units, cost_minor)
SELECT %(place)s || '|' || sku, %(place)s, sku, 'active', 'sS', 1, 2, 730
FROM unnest(ARRAY['D', 'E']) sku;
INSERT INTO retail.stock_count (inv_key, location, sku, units, kind, status, occurred_at)
SELECT %(place)s || '|' || sku, %(place)s, sku, 17, 'opening', 'approved',
    clock_timestamp() - interval '2 hours'
FROM unnest(ARRAY['D', 'E']) sku;
INSERT INTO retail.sale_line (source, source_ref, inv_key, location, sku, quantity_units,
    amount_minor, condition, occurred_at)
SELECT 'shop', %(place)s || '-late-' || hours, %(place)s || '|' || sku, %(place)s, sku, units,
    units * 499, 'resaleable', clock_timestamp() - make_interval(hours => hours, mins => 30)
FROM (VALUES ('A', 30, 4), ('B', 50, 2), ('C', 130, 3), ('E', 492, 5)) line (sku, hours, units);
INSERT INTO retail.stock_count (inv_key, location, sku, units, kind, status, occurred_at)
SELECT %(place)s || '|' || sku, %(place)s, sku, units, 'cycle', 'approved', clock_timestamp()
FROM (VALUES ('B', 61), ('C', 90)) counted (sku, units);
INSERT INTO retail.sale_line (source, source_ref, inv_key, location, sku, quantity_units,
    amount_minor, condition, occurred_at)
SELECT 'shop', %(place)s || '-after', %(place)s || '|B', %(place)s, 'B', 2, 1998, 'resaleable',
    clock_timestamp();
INSERT INTO retail.price_change (inv_key, location, sku, effective_from, price_minor, step, kind,
    floor_minor)
SELECT %(place)s || '|' || sku, %(place)s, sku, clock_timestamp() - hours * interval '1 hour',
    price, step, 'manual', 100
FROM unnest(ARRAY['A', 'B']) sku,
    (VALUES (40, 999, 0), (4, 899, 1), (2, 799, 2), (1, 999, 0)) changed (hours, price, step);
INSERT INTO retail.purchase_order_line (inv_key, location, sku, order_ref, supplier, status,
    ordered_units, ordered_at, due_on)
SELECT %(place)s || '|' || sku, %(place)s, sku, 'Q-' || sku, supplier, 'sent', units,
    clock_timestamp() - interval '50 hours',
    (clock_timestamp() AT TIME ZONE 'UTC')::date + due
FROM (VALUES ('A', 'QUICK', 40, 1), ('B', 'QUICK', 30, -1), ('C', 'SLOW', 20, 2))
    line (sku, supplier, units, due);
INSERT INTO retail.shipment_line (inv_key, location, sku, leg, status, purchase_order_line_id,
    shipped_units, received_units, damaged_units, order_units, shipped_at, received_at)
SELECT inv_key, location, sku, 'supplier_in', 'received', id, ordered_units, ordered_units - 3,
    1, ordered_units - 2, clock_timestamp() - interval '20 hours',
    clock_timestamp() - interval '10 minutes'
FROM retail.purchase_order_line WHERE location = %(place)s AND supplier = 'QUICK'
"""
TABLES = (
    *("states", "windows", "late", "sales", "orders", "shipments", "price_changes", "movements"),
)


@pytest.fixture(name="stores", scope="module")
def two_shops(stack: RunningStack) -> list[str]:
    url = stack.settings.owner_database_url.get_secret_value()
    shops = [Shop(url), Shop(url)]
    for shop in shops:
        shop.trade()
        with psycopg.connect(shop.url, autocommit=True) as connection:
            for statement in MORE.split(";"):
                connection.execute(statement, {"place": shop.location})
    for shop in shops:
        report = verify(shop.location, settings=stack.settings)
        assert report.ok, report.as_json()
    return [shop.location for shop in shops]


@pytest.fixture(name="duck", scope="module")
def a_session(
    stack: RunningStack, stores: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DuckHistory]:
    assert stores
    report = run("local", settings=stack.settings)
    opened = open_history(stack.settings, Request(report.plan.run))
    found = DuckHistory(opened.files, tmp_path_factory.mktemp("spill"))
    yield found
    found.close()


def in_order(rows: Rows) -> Rows:
    return sorted(rows, key=lambda row: [(value is None, str(value)) for value in row])


def from_history(duck: DuckHistory, name: str, stores: list[str]) -> Rows:
    """Return the answer for these stores only, because other tests trade on the same stack."""
    names = ", ".join(f"'{store}'" for store in stores)
    own = ", ".join(
        f"{table} AS (SELECT * FROM main.{table} WHERE store IN ({names}))"  # noqa: S608 -- own names
        for table in TABLES
    )
    statement = f"WITH {own} SELECT * FROM ({question(name).statement}\n)"  # noqa: S608 -- own names
    [answer] = list(duck.run(statement))
    return in_order(list(answer.rows()))


def from_facts(stack: RunningStack, name: str, stores: list[str]) -> Rows:
    url = stack.settings.read_database_url.get_secret_value()
    with psycopg.connect(url, autocommit=True) as connection:
        return in_order(list(connection.execute(IN_SQL[name].encode(), {"stores": stores})))


@pytest.mark.parametrize("name", sorted(IN_SQL))
def test_each_history_question_has_the_same_answer_as_sql_over_the_facts(
    stack: RunningStack, duck: DuckHistory, stores: list[str], name: str
) -> None:
    expected = from_facts(stack, name, stores)

    assert from_history(duck, name, stores) == expected
    assert expected


def test_every_question_without_learned_values_is_compared() -> None:
    others = {one.name for one in questions()} - IN_SQL.keys()

    assert others == {"forecast_error", "lost_sales", "price_elasticity"}
