"""`inventory explain` and `sales` on the running stack: the terms of each item add up."""

import json

import psycopg

from analytics.explain import explain
from analytics.verify import verify
from inventory.explain.lines import gaps
from tests.analytics.shop import Shop
from tests.stack.running import RunningStack

MOST_KEYS = 60


def shown_keys(stack: RunningStack) -> list[tuple[str, str]]:
    with psycopg.connect(stack.settings.read_database_url.get_secret_value()) as connection:
        return connection.execute(
            "SELECT location, sku FROM read_model.stock ORDER BY md5(inv_key) LIMIT %s",
            [MOST_KEYS],
        ).fetchall()


def test_the_explanation_of_every_item_adds_up_from_the_worker_state(stack: RunningStack) -> None:
    shop = Shop(stack.settings.owner_database_url.get_secret_value())
    shop.trade()
    assert verify(shop.location, settings=stack.settings).ok

    found = {(place, sku): explain(sku, place, settings=stack.settings)
             for place, sku in shown_keys(stack)}  # fmt: skip

    assert {key: gaps(one.sections) for key, one in found.items() if gaps(one.sections)} == {}
    assert {one.came_from for one in found.values()} == {"worker"}
    ours = [one.as_json() for (place, _), one in found.items() if place == shop.location]
    for one in ours:
        shown = {term["name"]: term["amount"] for term in one["terms"]}
        assert one["on_hand_units"] == shown["on_hand_units"], one
        assert shown["policy_partition"] == one["partition"]
        assert not [name for name in shown if "not_in_state" in name]


def test_explain_and_sales_commands_report_an_item(stack: RunningStack) -> None:
    shop = Shop(stack.settings.owner_database_url.get_secret_value())
    shop.trade()
    assert verify(shop.location, settings=stack.settings).ok

    explained = stack.cli("explain", "C", "--location", shop.location)
    sold = stack.cli("sales", "C", "--location", shop.location, "--json")
    unknown = stack.cli("explain", "C", "--location", "NOWHERE")

    assert explained.returncode == 0, explained.stderr
    headings = [line for line in explained.stdout.splitlines() if not line.startswith(" ")]
    assert headings[1:] == [
        "Stock",
        "Demand",
        "Levels",
        "Order quantity",
        "Price",
        "Need",
        "Where this comes from",
    ]
    report = json.loads(sold.stdout)
    assert sorted(report["hops"]) == ["24 hours", "7 days", "hour"]
    # Sessions include the window in progress. Hops end before it.
    whole = report["hops"]["7 days"][-1]
    assert sum(one["units"] for one in report["sessions"]) >= whole["units"] > 0
    assert unknown.returncode == 1
    assert "--location 'NOWHERE': no such location" in unknown.stderr
