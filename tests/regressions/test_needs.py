"""Needs that other systems ordered twice, not at all, or over a limit (docs/domain.md 10)."""

import pytest

from inventory.replenishment.levels import levels
from inventory.replenishment.quantity import order_quantity
from tests.inventory.decision_inputs import policy
from tests.regressions.shop import Shop

FIRST = "R:L|S:1-2"


def in_need() -> Shop:
    """Return a shop with 24 units counted and 4 sold, so 20 on hand and a need of 42."""
    shop = Shop()
    shop.count(1, 24, "08:00")
    shop.sell(1, 4, "09:00")
    assert shop.said == [f"{FIRST} revision 1 open 42"]
    return shop


def test_odoo_17320_odoo_1062_two_scheduler_runs_order_once() -> None:
    shop = in_need()

    for day in range(1, 4):
        shop.review(f"{day}d 00:00")
        shop.review(f"{day}d 00:00:01")

    assert shop.said == [f"{FIRST} revision 1 open 42"]
    assert (shop.state.episode.state, shop.state.episode.quantity_units) == ("open", 42)


def test_odoo_pr_33798_odoo_pr_31490_odoo_30541_order_line_without_need_id_counts() -> None:
    shop = in_need()

    shop.insert("purchase_order_line", id=1, ordered_units=1)
    for day in range(1, 4):
        shop.review(f"{day}d 00:00")
    assert (shop.state.base_position_units, shop.state.episode.quantity_units) == (21, 42)

    shop.insert("purchase_order_line", id=2, ordered_units=42)
    assert shop.said[-1] == f"{FIRST} revision 2 cancelled"


def test_inventree_4904_open_orders_count_in_the_inventory_position() -> None:
    shop = Shop(reorder_point_units=140, order_up_to_units=816, pack_units=12, allocated_units=6)
    shop.insert("purchase_order_line", id=1, ordered_units=72)
    shop.insert(
        "shipment_line",
        id=1,
        leg="supplier_in",
        status="shipped",
        shipped_units=24,
        shipped_at="09:00",
    )

    shop.count(1, 62, "08:00")

    assert (shop.state.base_position_units, shop.state.in_transit_units) == (128, 24)
    assert shop.said[0].endswith("open 696")


def test_odoo_20719_a_restored_order_line_cancels_the_second_need() -> None:
    shop = in_need()
    shop.insert("purchase_order_line", id=1, ordered_units=42, reorder_id=FIRST, status="draft")
    assert shop.said[-1] == f"{FIRST} revision 2 accepted"

    shop.update("purchase_order_line", id=1, cancelled_units=42, status="closed")
    second = shop.said[-1]
    assert (second.startswith(FIRST), second.endswith("revision 1 open 42")) == (False, True)
    shop.update("purchase_order_line", id=1, cancelled_units=0, status="draft")

    assert shop.said[-1] == second.replace("revision 1 open 42", "revision 2 cancelled")
    assert shop.state.episode.state == "idle"
    assert shop.state.base_position_units == 62


def test_odoo_pr_76466_a_postponed_order_line_opens_no_need() -> None:
    shop = in_need()
    shop.insert("purchase_order_line", id=1, ordered_units=42, reorder_id=FIRST, due_on=20_410)
    said = list(shop.said)

    shop.update("purchase_order_line", id=1, due_on=20_500)
    shop.review("60d 00:00")

    assert shop.said == said
    assert shop.state.base_position_units == 62


@pytest.mark.parametrize(
    ("rounding", "limits", "base", "target", "units"),
    [
        ("up", {"max_order_units": 100}, 0, 150, 96),
        ("down", {"max_order_units": 100}, 0, 150, 96),
        ("up", {"capacity_units": 60}, 30, 80, 24),
        ("down", {"capacity_units": 60}, 30, 80, 24),
        ("up", {}, 0, 150, 156),
        ("down", {}, 0, 150, 144),
    ],
)
def test_odoo_pr_141480_odoo_pr_283083_odoo_documentation_14850_no_rounding_passes_a_limit(
    rounding: str, limits: dict[str, int], base: int, target: int, units: int
) -> None:
    named = {"pack_units": 12, "pack_rounding": rounding, "reorder_point_units": base}
    ranged = policy(**named, order_up_to_units=target, **limits)

    assert order_quantity(ranged, levels(ranged, None, None), base, None).units == units


def test_erpnext_36154_erpnext_50475_daily_reviews_open_a_need_only_once() -> None:
    shop = in_need()

    for day in range(1, 15):
        shop.review(f"{day}d 06:00")

    assert shop.said == [f"{FIRST} revision 1 open 42"]


def test_erpnext_pr_4791_a_need_opens_at_the_reorder_point() -> None:
    shop = Shop()
    shop.count(1, 22, "08:00")
    shop.sell(1, 1, "09:00")
    assert (shop.state.base_position_units, shop.said) == (21, [])

    shop.sell(2, 1, "09:01")

    assert (shop.state.base_position_units, len(shop.said)) == (20, 1)
