"""Windows, lateness and clocks beyond the table of domain.md 3.2 (test_worked_tables.py)."""

import pytest

from inventory.model.outputs import LateSale
from inventory.model.windows import complete_before_us, evaluation_us, horizon_us, is_closed
from tests.inventory.builders import Log, adjustment, at, count, counters, policy, price, sale
from tests.outcomes import applied


@pytest.mark.domain("11.5 Late record")
def test_a_late_sale_is_the_difference_of_before_and_after_image() -> None:
    log = Log(commit_us=at("12:00", day=5))
    before, after = sale(1, 2, at("10:00"), amount=10), sale(1, 5, at("10:30"), amount=30)

    assert applied(log.update("sale_line", before, after)).late == LateSale(3, 20)
    damaged = log.update("sale_line", after, after | {"condition": "damaged"})
    assert applied(damaged).late is None


@pytest.mark.domain("11.5 One change")
def test_a_change_of_movements_only_does_not_raise_the_window_revision() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("sale_line", sale(1, -1, at("10:00")))
    condition = {"condition": "damaged"}

    log.update("sale_line", sale(1, -1, at("10:00")), sale(1, -1, at("10:00")) | condition)

    row = log.state.windows[at("10:00")]
    assert (row.window_revision, row.late_lines, row.moves) == (1, 1, {})
    assert (log.state.on_hand_units, log.state.unavailable_units) == (0, 1)


def test_an_update_with_equal_movements_changes_no_window_row() -> None:
    log = Log(commit_us=at("12:00"))
    theft, loss = (adjustment(1, reason, 2, at("10:00")) for reason in ("theft", "loss"))
    log.insert("stock_adjustment", theft)
    before = log.state.windows

    folded = log.update("stock_adjustment", theft, loss)

    assert applied(folded).windows_changed == ()
    assert log.state.windows == before


@pytest.mark.domain("11.5 One change", "1 revision")
@pytest.mark.parametrize(
    ("before", "after", "left", "entered"),
    [("10:00", "10:15", "10:00", "10:10"), ("10:15", "10:00", "10:10", "10:00")],
    ids=["later", "earlier"],
)
def test_a_sale_line_moved_into_a_closed_window_counts_as_late_there(
    before: str, after: str, left: str, entered: str
) -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("sale_line", sale(1, 1, at(before)))

    folded = log.update("sale_line", sale(1, 1, at(before)), sale(1, 1, at(after)))

    assert counters(log.state, left) == (0, 0, 0, 0, 0, 1, 2)
    assert counters(log.state, entered) == (1, 0, 1, 0, 0, 1, 1)
    assert applied(folded).windows_changed == (at("10:00"), at("10:10"))


@pytest.mark.domain("1 grace, closed, late")
def test_a_window_closes_ten_minutes_after_its_end() -> None:
    assert not is_closed(at("10:00"), at("10:20") - 1)
    assert is_closed(at("10:00"), at("10:20"))
    assert not is_closed(at("10:00"), None)


@pytest.mark.domain("1 horizon, expired")
def test_today_and_the_three_days_before_are_retained() -> None:
    assert horizon_us(at("00:00", day=4)) == at("00:00", day=1)
    assert horizon_us(at("23:59", day=3)) == at("00:00")


def test_a_day_is_complete_after_its_grace() -> None:
    assert complete_before_us(at("00:10", day=1)) == at("00:00", day=1)
    assert complete_before_us(at("00:10", day=1) - 1) == at("00:00")
    assert evaluation_us(at("10:25")) == at("10:10")


@pytest.mark.domain("11.3 Columns", "1 stream time")
def test_the_stream_time_of_a_replayed_key_follows_business_times() -> None:
    log = Log(commit_us=at("12:00", day=400))
    log.insert("item_location", policy(clock_mode="replayed"))
    assert counters(log.state, "10:00") is None
    log.insert("sale_line", sale(1, 1, at("10:00")))
    assert log.state.stream_time_us == at("10:00")
    log.insert("price_change", price(1, 999, at("11:00")))
    assert log.state.stream_time_us == at("10:00")

    live = policy(clock_mode="live")
    log.update("item_location", policy(clock_mode="replayed"), live)
    assert log.state.stream_time_us == log.commit_us
    log.delete("item_location", live)
    assert log.state.clock_mode == "live"


@pytest.mark.domain("2.2 r *", "11.10 Adoption")
def test_snapshot_rows_set_no_stream_time_until_the_first_change() -> None:
    log = Log(commit_us=at("12:00", day=9))
    log.snapshot("sale_line", sale(1, 2, at("10:00", day=8)))
    log.snapshot("stock_count", count(1, 9, at("08:00")))
    assert (log.state.stream_time_us, log.state.on_hand_units) == (None, 7)

    folded = log.insert("sale_line", sale(2, 1, at("11:59", day=9)))

    assert (log.state.on_hand_units, log.state.stock.opening_units) == (6, 9)
    assert applied(folded).late is None
    assert counters(log.state, "10:00", day=8) == (2, 0, 1, 0, 0, 0, 0)
    assert log.state.stock.counts == ()
