"""Stock that other systems rewrote, reposted or lost (docs/domain.md 10)."""

from itertools import permutations

import pytest

from tests.regressions.shop import Shop
from tests.vectors import moment


def test_erpnext_54640_erpnext_54295_erpnext_pr_35481_erpnext_49861_a_change_before_a_count() -> (
    None
):
    """A back-dated change is allowed and doesn't change the count."""
    shop = Shop()
    shop.count(1, 3, "07:00", kind="opening")
    shop.sell(1, 1, "08:00")
    shop.count(2, 1, "08:30")
    assert (shop.state.on_hand_units, shop.variances) == (1, [3, -1])

    cancelled = shop.delete("sale_line", id=1)

    assert cancelled.verdict == "applied"
    assert (shop.state.on_hand_units, shop.variances) == (1, [3, -2])


def test_erpnext_pr_24031_erpnext_26625_erpnext_40123_late_sale_changes_one_window() -> None:
    shop = Shop()
    shop.count(1, 500, "00:00", kind="opening")
    for row_id in range(2, 202):
        shop.sell(row_id, 1, f"0{1 + row_id % 8}:{row_id % 60:02}")
    before = dict(shop.state.windows)

    shop.sell(900, 7, "00:30")

    after = shop.state.windows
    touched = [start for start in after if after[start] is not before.get(start)]
    assert touched == [moment("00:30")]
    assert shop.state.on_hand_units == 500 - 200 - 7


def test_erpnext_pr_50277_erpnext_pr_31748_the_order_of_arrival_changes_no_result() -> None:
    """A receipt at 09:00 and later sales reach Postgres at 18:00, in any order."""
    facts = [("08:00", 5), ("09:10", -4), ("09:20", -3)]
    seen = set()
    for order in permutations(range(3)):
        shop = Shop(start="18:00")
        shop.count(1, 0, "07:00", kind="opening")
        for place in order:
            clock, units = facts[place]
            if units > 0:
                received = {"received_units": units, "received_at": clock}
                shop.insert(
                    "shipment_line", id=place, leg="supplier_in", status="received", **received
                )
            else:
                shop.sell(place, -units, clock)
        sold = {start: row.sold_units for start, row in shop.state.windows.items()}
        seen.add((shop.state.on_hand_units, tuple(sorted(sold.items()))))
    assert len(seen) == 1
    on_hand, sold_at = seen.pop()
    assert (on_hand, [units for _, units in sold_at]) == (-2, [0, 4, 3])


def test_openboxes_pr_5092_oracle_support_2474243_sales_after_the_count_reduce_stock() -> None:
    """A count has a time, to the second. Sales after this time are subtracted from its units."""
    shop = Shop()
    shop.count(1, 10, "07:00", kind="opening")
    shop.sell(1, 2, "08:10")
    shop.count(2, 9, "08:00")
    assert (shop.state.on_hand_units, shop.variances) == (7, [10, -1])

    shop.sell(2, 1, "07:50")

    # The late sale changes the variance to 0 and leaves the stock unchanged.
    assert (shop.state.on_hand_units, shop.variances) == (7, [10, 0])
    assert shop.state.stock.shrink_units == 0


@pytest.mark.parametrize("hours", [0, 80])
def test_faust_385_faust_118_faust_428_robinhood_faust_708_windows_expire_by_stream_time(
    hours: int,
) -> None:
    """A line's business time chooses its window. The key's stream time expires the window."""
    shop = Shop(start="12:00")
    shop.sell(1, 2, "09:05")
    assert [row.sold_units for row in shop.state.windows.values()] == [2]

    shop.sell(2, 1, "11:00", commit=f"{hours // 24}d {12 + hours % 24}:00:30" if hours else "12:30")
    assert len(shop.state.windows) == 2

    shop.review("4d 00:00")
    assert shop.state.windows == {}
    late = shop.sell(3, 1, "09:06")
    assert (late.late, shop.state.windows) == ([[1, 0]], {})
