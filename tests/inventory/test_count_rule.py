"""Cases of the count rule beyond the tables of domain.md 2.4 (tables: test_worked_tables.py)."""

import pytest

from inventory.model.state import KeyState
from tests.inventory.builders import (
    Log,
    adjustment,
    at,
    count,
    sale,
)

Seen = tuple[int, int, int, int]


def seen(state: KeyState) -> Seen:
    """Return on-hand, Σ movements, Σ variances and shrink."""
    stock = state.stock
    return (
        stock.on_hand_units,
        stock.sum_movements_units,
        stock.sum_variances_units,
        stock.shrink_units,
    )


@pytest.mark.domain("2.3 stock_count, approved")
def test_opening_counts_are_no_shrink() -> None:
    log = Log(commit_us=at("12:30"))
    log.insert("stock_count", count(1, 10, at("08:00"), kind="opening"))
    log.insert("sale_line", sale(1, 2, at("09:00")))
    log.insert("stock_count", count(2, 5, at("10:00")))
    assert seen(log.state) == (5, -2, 7, 3)

    log.insert("sale_line", sale(2, 1, at("09:30")))

    assert seen(log.state) == (5, -3, 8, 2)


@pytest.mark.domain("11.4 Old movement")
def test_a_movement_before_the_opening_count_changes_shrink() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("stock_count", count(1, 10, at("08:00"), kind="opening"))
    log.insert(
        "stock_count", count(2, 10, at("08:00", day=5), kind="opening"), commit=at("12:00", day=5)
    )

    log.insert("sale_line", sale(1, 3, at("07:00")))

    assert seen(log.state) == (10, -3, 13, -3)


@pytest.mark.domain("11.4 Thousand")
def test_at_most_a_thousand_counts_of_a_day_are_taken() -> None:
    log = Log(commit_us=at("12:00"))
    for row_id in range(1000):
        log.insert("stock_count", count(row_id, 5, at("08:00")))

    assert log.insert("stock_count", count(1000, 5, at("08:00"))).verdict == "rejected:limit"
    moved = log.update("stock_count", count(7, 5, at("08:00")), count(7, 6, at("08:00")))
    assert moved.verdict == "applied"


@pytest.mark.domain("2.3 stock_adjustment")
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
def test_an_adjustment_reason_selects_on_hand_or_unavailable_units(
    reason: str, on_hand: int, unavailable: int
) -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("stock_adjustment", adjustment(1, reason, 2, at("11:00")))
    assert (log.state.on_hand_units, log.state.unavailable_units) == (on_hand, unavailable)
