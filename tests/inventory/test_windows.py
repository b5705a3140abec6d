"""Windows, lateness and the clocks, as in the table of domain.md 3.2."""

from inventory.model.outputs import LateSale
from inventory.windows import complete_before_us, evaluation_us, horizon_us, is_closed
from tests.inventory.builders import Log, at, count, counters, policy, price, sale


def test_a_live_key_follows_the_table() -> None:
    log = Log()
    row_3, row_6 = sale(3, 1, at("10:08"), amount=999), sale(6, 3, at("10:05"), amount=2997)
    log.insert("stock_count", count(1, 20, at("09:00")), commit=at("09:00:01"))
    log.insert("sale_line", sale(1, 2, at("10:03"), amount=1998), commit=at("10:03:01"))
    assert counters(log.state, "10:00") == (2, 0, 1, 0, 1998, 0, 0)
    log.insert("sale_line", sale(2, 1, at("10:12"), amount=999), commit=at("10:12:01"))
    assert counters(log.state, "10:10") == (1, 0, 1, 0, 999, 0, 0)
    log.insert("sale_line", row_3, commit=at("10:14"))
    assert counters(log.state, "10:00") == (3, 0, 2, 0, 2997, 0, 0)
    log.insert("sale_line", sale(4, -1, at("10:19:58"), amount=-999), commit=at("10:19:59"))
    assert counters(log.state, "10:10") == (1, 1, 1, 1, 0, 0, 0)
    log.insert("sale_line", sale(5, 1, at("10:09:59"), amount=999), commit=at("10:20"))
    assert counters(log.state, "10:00") == (4, 0, 3, 0, 3996, 1, 1)
    log.insert("sale_line", row_6, commit=at("12:00"))
    assert counters(log.state, "10:00") == (7, 0, 4, 0, 6993, 2, 2)
    log.delete("sale_line", row_3, commit=at("12:01"), recorded=at("10:14"))
    assert counters(log.state, "10:00") == (6, 0, 3, 0, 5994, 2, 3)
    assert log.state.on_hand_units == 14
    recorded = at("12:27:30") + 400_000
    ahead = sale(8, 1, at("12:31"), amount=999)
    log.insert("sale_line", ahead, commit=recorded + 100_000, recorded=recorded)
    assert counters(log.state, "12:20") == (1, 0, 1, 0, 999, 0, 0)
    assert log.state.on_hand_units == 13

    four_days_later = at("00:00", day=4)
    log.insert("item_location", policy(reviewed_at=four_days_later), commit=four_days_later)
    assert log.state.windows == {}
    late = log.insert("sale_line", sale(10, 1, at("10:06"), amount=999))
    assert (late.late, log.state.on_hand_units) == (LateSale(1, 999), 12)
    taken_back = log.delete("sale_line", row_6, recorded=at("12:00"))
    assert (taken_back.late, log.state.on_hand_units) == (LateSale(-3, -2997), 15)


def test_a_late_record_is_the_net_of_both_images() -> None:
    log = Log(commit_us=at("12:00", day=5))
    before, after = sale(1, 2, at("10:00"), amount=10), sale(1, 5, at("10:30"), amount=30)

    assert log.update("sale_line", before, after).late == LateSale(3, 20)
    assert log.update("sale_line", after, after | {"condition": "damaged"}).late is None


def test_moves_alone_are_no_revision() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("sale_line", sale(1, -1, at("10:00")))
    condition = {"condition": "damaged"}

    log.update("sale_line", sale(1, -1, at("10:00")), sale(1, -1, at("10:00")) | condition)

    row = log.state.windows[at("10:00")]
    assert (row.window_revision, row.late_lines, row.moves) == (1, 1, {})
    assert (log.state.on_hand_units, log.state.unavailable_units) == (0, 1)


def test_a_line_that_moves_into_a_closed_window_is_a_late_line_there() -> None:
    log = Log(commit_us=at("12:00"))
    first, second = sale(1, 1, at("10:00")), sale(1, 1, at("10:15"))
    log.insert("sale_line", first)

    log.update("sale_line", first, second)

    assert counters(log.state, "10:00") == (0, 0, 0, 0, 0, 1, 2)
    assert counters(log.state, "10:10") == (1, 0, 1, 0, 0, 1, 1)


def test_a_window_is_closed_from_its_end_and_the_grace_on() -> None:
    assert not is_closed(at("10:00"), at("10:20") - 1)
    assert is_closed(at("10:00"), at("10:20"))
    assert not is_closed(at("10:00"), None)


def test_today_and_the_three_days_before_are_retained() -> None:
    assert horizon_us(at("00:00", day=4)) == at("00:00", day=1)
    assert horizon_us(at("23:59", day=3)) == at("00:00")


def test_a_day_is_complete_after_its_grace() -> None:
    assert complete_before_us(at("00:10", day=1)) == at("00:00", day=1)
    assert complete_before_us(at("00:10", day=1) - 1) == at("00:00")
    assert evaluation_us(at("10:25")) == at("10:10")


def test_a_replayed_key_keeps_the_calendar_of_its_facts() -> None:
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


def test_snapshot_rows_move_no_clock_and_are_folded_by_the_first_change() -> None:
    log = Log(commit_us=at("12:00", day=9))
    log.snapshot("sale_line", sale(1, 2, at("10:00", day=8)))
    log.snapshot("stock_count", count(1, 9, at("08:00")))
    assert (log.state.stream_time_us, log.state.on_hand_units) == (None, 7)

    folded = log.insert("sale_line", sale(2, 1, at("11:59", day=9)))

    assert (log.state.on_hand_units, log.state.stock.opening_units) == (6, 9)
    assert folded.late is None
    assert counters(log.state, "10:00", day=8) == (2, 0, 1, 0, 0, 0, 0)
    assert log.state.stock.counts == ()
