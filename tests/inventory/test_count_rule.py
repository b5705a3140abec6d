"""The count rule, row by row as in the two tables of domain.md 2.4."""

import pytest

from inventory.errors import COUNT_BEYOND_HORIZON
from inventory.folds.stock import net_between
from inventory.model.state import KeyState
from tests.inventory.builders import (
    Log,
    Row,
    adjustment,
    at,
    count,
    order_line,
    policy,
    sale,
    shipment,
)

Seen = tuple[int, int, int, int]


def seen(state: KeyState) -> Seen:
    """on-hand, Σ movements, Σ variances, shrink."""
    stock = state.stock
    return (
        stock.on_hand_units,
        stock.sum_movements_units,
        stock.sum_variances_units,
        stock.shrink_units,
    )


def variances(state: KeyState) -> list[int]:
    """The variance of every retained count, each summed from all other facts."""
    stock, found = state.stock, []
    before, since = stock.opening_units, None
    for counted in stock.counts:
        found.append(counted.units - before - net_between(state.windows, since, counted.at_us))
        before, since = counted.units, counted.at_us
    return found


def receipt(row_id: int, units: int, when: int) -> Row:
    return shipment(row_id, "supplier_in", "received", received_units=units, received_at=when)


def first_day() -> Log:  # noqa: PLR0915 -- one table, row by row
    """Rows 1 to 12 of the table."""
    log = Log(commit_us=at("12:30"))
    row_4, late_sale = sale(4, 1, at("10:02")), sale(6, 3, at("09:50"))
    at_ten = count(2, 18, at("10:00"))
    log.insert("stock_count", count(1, 10, at("08:00"), kind="opening"))
    assert seen(log.state)[:3] == (10, 0, 10)
    log.insert("sale_line", sale(1, 2, at("09:00")))
    assert seen(log.state)[:3] == (8, -2, 10)
    log.insert("shipment_line", receipt(1, 12, at("09:30")))
    assert seen(log.state)[:3] == (20, 10, 10)
    log.insert("sale_line", row_4)
    assert seen(log.state)[:2] == (19, 9)
    log.insert("stock_count", at_ten)
    assert seen(log.state)[:2] == (17, 9)
    assert variances(log.state) == [10, -2]
    log.insert("sale_line", late_sale)
    assert (seen(log.state)[:2], variances(log.state)) == ((17, 6), [10, 1])
    log.insert("sale_line", sale(7, 1, at("10:00:00")))
    assert (seen(log.state)[:2], variances(log.state)) == ((17, 5), [10, 2])
    log.insert("stock_count", count(3, 15, at("09:40")))
    assert (seen(log.state)[:2], variances(log.state)) == ((17, 5), [10, -5, 7])
    log.update("stock_count", at_ten, count(2, 18, at("10:00"), status="void"))
    assert seen(log.state)[:2] == (10, 5)
    log.update("sale_line", row_4, sale(4, 2, at("10:02")))
    assert (seen(log.state)[:2], variances(log.state)) == ((9, 4), [10, -5])
    log.insert("stock_count", count(4, 8, at("10:30")))
    log.insert("stock_count", count(5, 9, at("10:30")))
    assert (seen(log.state)[:2], variances(log.state)) == ((9, 4), [10, -5, -1, 1])
    log.delete("sale_line", late_sale)
    assert (seen(log.state)[:2], variances(log.state)) == ((9, 7), [10, -5, -4, 1])
    assert seen(log.state)[3] == 8
    return log


def test_the_first_day_follows_the_table() -> None:
    first_day()


def test_days_beyond_the_horizon_stay_exact_but_take_no_count() -> None:
    log = first_day()

    log.insert("sale_line", sale(13, 1, at("09:00", day=5)), commit=at("09:00:01", day=5))
    assert seen(log.state)[:3] == (8, 6, 2)
    assert log.state.stock.opening_units == 9
    opening = log.state.stock.opening_count
    assert opening is not None
    assert (opening.at_us, opening.id) == (at("10:30"), 5)
    log.insert("sale_line", sale(14, 2, at("10:15")))
    assert seen(log.state) == (8, 4, 4, 6)
    log.insert("sale_line", sale(15, 2, at("11:00")))
    assert seen(log.state)[:3] == (6, 2, 4)
    folded = log.insert("stock_count", count(16, 4, at("12:00")))
    assert folded.verdict == f"rejected:{COUNT_BEYOND_HORIZON}"
    assert seen(log.state)[:3] == (6, 2, 4)


def test_a_movement_older_than_the_opening_count_is_shrink_whatever_the_next_count_is() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("stock_count", count(1, 10, at("08:00"), kind="opening"))
    log.insert(
        "stock_count", count(2, 10, at("08:00", day=5), kind="opening"), commit=at("12:00", day=5)
    )

    log.insert("sale_line", sale(1, 3, at("07:00")))

    assert seen(log.state) == (10, -3, 13, -3)


def test_at_most_a_thousand_counts_of_a_day_are_taken() -> None:
    log = Log(commit_us=at("12:00"))
    for row_id in range(1000):
        log.insert("stock_count", count(row_id, 5, at("08:00")))

    assert log.insert("stock_count", count(1000, 5, at("08:00"))).verdict == "rejected:limit"
    moved = log.update("stock_count", count(7, 5, at("08:00")), count(7, 6, at("08:00")))
    assert moved.verdict == "applied"


def buckets(state: KeyState) -> tuple[int, int, int, int, int]:
    return (
        state.on_hand_units,
        state.unavailable_units,
        state.on_order_units,
        state.in_transit_units,
        state.base_position_units,
    )


def test_buckets_follow_orders_receipts_transfers_returns_and_adjustments() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("item_location", policy(allocated_units=2))
    log.insert("stock_count", count(1, 5, at("08:00")))
    ordered, confirmed = order_line(1, 24), order_line(1, 24, confirmed_units=20)
    shipped = shipment(1, "supplier_in", "shipped", shipped_units=20, shipped_at=at("09:00"))
    received = shipment(
        1,
        "supplier_in",
        "received",
        shipped_units=20,
        shipped_at=at("09:00"),
        received_units=18,
        damaged_units=1,
        order_units=19,
        received_at=at("10:00"),
    )
    steps: list[tuple[str, Row | None, Row | None, tuple[int, ...]]] = [
        ("purchase_order_line", None, ordered, (5, 0, 24, 0, 27)),
        ("purchase_order_line", ordered, confirmed, (5, 0, 20, 0, 23)),
        ("shipment_line", None, shipped, (5, 0, 20, 20, 23)),
        ("shipment_line", shipped, received, (23, 1, 1, 0, 22)),
        ("purchase_order_line", confirmed, confirmed | {"cancelled_units": 1}, (23, 1, 0, 0, 21)),
    ]
    planned = shipment(2, "transfer_in", "planned", planned_units=6)
    on_the_way = planned | {"status": "shipped", "shipped_units": 6, "shipped_at": at("10:00")}
    arrived = on_the_way | {
        "status": "received",
        "received_units": 5,
        "received_at": at("11:00"),
        "discrepancy_reason": "lost",
    }
    steps += [
        ("shipment_line", None, planned, (23, 1, 6, 0, 27)),
        ("shipment_line", planned, on_the_way, (23, 1, 6, 6, 27)),
        ("shipment_line", on_the_way, arrived, (28, 1, 0, 0, 26)),
        ("sale_line", None, sale(1, -1, at("11:10")), (29, 1, 0, 0, 27)),
        ("sale_line", None, sale(2, -1, at("11:10"), condition="damaged"), (29, 2, 0, 0, 27)),
        ("sale_line", None, sale(3, -1, at("11:10"), condition="discarded"), (29, 2, 0, 0, 27)),
        ("stock_adjustment", None, adjustment(1, "damage", 2, at("11:20")), (27, 4, 0, 0, 25)),
        ("stock_adjustment", None, adjustment(2, "repair", 1, at("11:20")), (28, 3, 0, 0, 26)),
        ("shipment_line", received, None, (10, 2, 19, 0, 27)),
    ]

    for table, before, after, expected in steps:
        op = "c" if before is None else "d" if after is None else "u"
        assert log.write(table, op, before, after).verdict == "applied"
        assert buckets(log.state) == expected, (table, after)


@pytest.mark.parametrize(
    ("reason", "on_hand", "unavailable"),
    [
        *((reason, -2, 0) for reason in ("theft", "loss", "waste", "own_use", "correction_down")),
        ("vendor_return", -2, 0),
        ("damage", -2, 2),
        ("found", 2, 0),
        ("correction_up", 2, 0),
        ("repair", 2, -2),
        ("dispose", 0, -2),
        ("vendor_return_damaged", 0, -2),
    ],
)
def test_the_reason_of_an_adjustment_decides_the_bucket(
    reason: str, on_hand: int, unavailable: int
) -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("stock_adjustment", adjustment(1, reason, 2, at("11:00")))
    assert (log.state.on_hand_units, log.state.unavailable_units) == (on_hand, unavailable)
