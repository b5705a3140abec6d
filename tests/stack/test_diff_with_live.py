"""`backfill diff` between the running workers' decisions and those of a run, during trade."""

import json

import psycopg
import pytest

from analytics.backfill.run import run
from analytics.verify import verify
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack

pytestmark = pytest.mark.soak


_LOWER = """
INSERT INTO retail.sale_line (source, source_ref, inv_key, location, sku, quantity_units,
    amount_minor, condition, occurred_at)
SELECT 'shop', %(place)s || '-more-' || sku, %(place)s || '|' || sku, %(place)s, sku, 90,
    89910, 'resaleable', clock_timestamp()
FROM unnest(ARRAY['A', 'B', 'C']) sku
"""


def traded(stack: RunningStack) -> str:
    """Sell until each item is below its reorder point of 20. Return the shop's location."""
    shop = Shop(stack.settings.owner_database_url.get_secret_value())
    shop.trade()
    with psycopg.connect(shop.url, autocommit=True) as connection:
        connection.execute(_LOWER, {"place": shop.location})
    assert verify(shop.location, settings=stack.settings).ok  # `verify` waits for the workers
    return shop.location


def test_published_decisions_equal_a_run_of_the_same_rules(stack: RunningStack) -> None:
    place = traded(stack)
    report = run("local", settings=stack.settings)

    equal = stack.cli("backfill", "diff", "live", report.plan.run, "--json")
    swapped = stack.cli("backfill", "diff", "2", "live")

    assert equal.returncode == 0, equal.stdout + equal.stderr
    found = json.loads(equal.stdout)
    assert found["a"]["live"] is True
    assert found["reorders"]["equal"] > 0
    assert not [name for name in found["history"]["live"]["left_out"] if place in name]
    ends = report.plan.ends
    assert all(found["a"]["reached"][str(number)] >= end for number, end in ends.items() if end > 0)
    assert swapped.returncode == 0, swapped.stdout + swapped.stderr
    assert "live (revision 2)" in swapped.stdout


def test_diff_lists_and_explains_decisions_changed_by_other_parameters(stack: RunningStack) -> None:
    place = traded(stack)
    changed = ("--set", "order_up_to_units=90", "--where", f"location={place}")
    planned = stack.cli("backfill", "plan", *changed, "--revision", "3", "--json")
    assert planned.returncode == 0, planned.stdout + planned.stderr
    done = stack.cli("backfill", "run", *changed, "--revision", "3", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    name = json.loads(done.stdout)["run"]

    differs = stack.cli("backfill", "diff", "live", name, "--json")

    assert differs.returncode == 1, differs.stdout + differs.stderr
    found = json.loads(differs.stdout)
    differing = {(row["how"], row["delta_units"]) for row in found["rows"]["reorder"]}
    assert differing == {("changed", 30)}
    keys = [row["inv_key"] for row in found["rows"]["reorder"]]
    assert sorted(keys) == [f"{place}|{sku}" for sku in "ABC"]
    key = keys[0]
    shown = stack.cli("backfill", "diff", "live", name, "--key", key, "--json")
    assert shown.returncode == 1, shown.stdout + shown.stderr
    one = json.loads(shown.stdout)
    assert one["record"]["verdict"] == "published"
    lines = {(line["section"], line["label"]): (line["a"], line["b"]) for line in one["lines"]}
    assert lines["Order quantity", "Order up to"][0] == "+60"
