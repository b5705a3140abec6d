"""Terms of domain.md 1, operations of 2.2, and rulings of 11, each on its own history."""

import pytest

from inventory.fold.partition import Partition
from inventory.model.ids import InvKey
from inventory.model.windows import horizon_us
from inventory.pricing.proposals import market_of
from tests.inventory.builders import (
    Log,
    at,
    count,
    counters,
    order_line,
    policy,
    price,
    sale,
    shipment,
)
from tests.inventory.decision_inputs import market, priced
from tests.outcomes import applied

SS = policy(
    replenish_family="sS", reorder_point_units=20, order_up_to_units=60, pack_units=6,
    allocated_units=3,
)  # fmt: skip


@pytest.mark.domain("1 on-hand", "1 unavailable", "1 allocated", "1 available to sell")
def test_allocated_and_unavailable_units_do_not_reduce_on_hand() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("stock_count", count(1, 2, at("08:00")))
    log.insert("sale_line", sale(1, -1, at("09:00"), condition="damaged"))
    assert (log.state.allocated_units, log.state.base_position_units) == (0, 2)

    log.insert("item_location", policy(allocated_units=5))

    assert (log.state.on_hand_units, log.state.unavailable_units) == (2, 1)
    assert log.state.allocated_units == 5
    oversold = market(priced(), old=999, on_hand_units=2, allocated_units=5)
    assert market_of(priced(), oversold).available_units == -3
    log.update("item_location", policy(allocated_units=5), policy(allocated_units=1))
    assert log.state.base_position_units == 1


@pytest.mark.domain("1 on-order", "1 in-transit", "1 inventory position", "1 base position B")
def test_units_in_transit_count_once_in_on_order() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("stock_count", count(1, 0, at("08:00")))
    log.insert("sale_line", sale(1, 4, at("09:00")))
    log.insert("purchase_order_line", order_line(1, 24))
    log.insert(
        "shipment_line",
        shipment(1, "supplier_in", "shipped", shipped_units=20, shipped_at=at("10:00")),
    )
    log.insert("shipment_line", shipment(2, "transfer_in", "planned", planned_units=6))

    state = log.state
    assert (state.on_hand_units, state.on_order_units, state.in_transit_units) == (-4, 30, 20)
    assert state.base_position_units == 30


@pytest.mark.domain("1 requested", "1 base position B", "1 SS, s, S", "1 episode, reorder id")
def test_base_position_excludes_the_units_of_the_open_need() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("item_location", SS)
    log.insert("stock_count", count(1, 23, at("08:00")))
    state = log.state
    assert (state.episode.quantity_units, state.base_position_units) == (42, 20)
    assert (state.reorder_point_units, state.order_up_to_units) == (20, 60)
    assert state.episode.id == f"R:{log.key}:1-1"

    log.insert("sale_line", sale(1, 1, at("09:00")))

    assert (log.state.episode.quantity_units, log.state.base_position_units) == (42, 19)


@pytest.mark.domain("1 business time", "1 commit time", "1 stream time", "1 window")
def test_a_sale_with_a_future_time_counts_at_its_recording_time() -> None:
    log = Log(commit_us=at("12:00"))
    recorded = at("10:09:59") + 999_999

    log.insert("sale_line", sale(1, 1, at("23:00")), recorded=recorded, commit=at("10:10:01"))
    log.insert("sale_line", sale(2, 1, at("10:10")), commit=at("10:10:02"))

    assert [counters(log.state, clock) for clock in ("10:00", "10:10")] == [
        (1, 0, 1, 0, 0, 0, 0),
        (1, 0, 1, 0, 0, 0, 0),
    ]
    assert list(log.state.windows[at("10:00")].moves) == [at("10:09:59")]
    assert log.state.stream_time_us == at("10:10:02")


@pytest.mark.domain("1 horizon, expired", "1 grace, closed, late")
def test_a_window_that_ends_at_the_horizon_is_expired() -> None:
    log = Log(commit_us=at("12:00", day=3))
    assert horizon_us(at("12:00", day=3)) == at("00:00")

    log.insert("sale_line", sale(1, 1, at("23:50", day=-1)))
    log.insert("sale_line", sale(2, 1, at("00:00")))

    assert counters(log.state, "23:50", day=-1) is None
    assert counters(log.state, "00:00") == (1, 0, 1, 0, 0, 1, 1)


@pytest.mark.domain("1 position, generation", "1 as-of, age")
def test_as_of_is_the_newest_commit_time_of_the_partition_heartbeats_included() -> None:
    log = Log(partition=Partition(7), commit_us=at("09:00"))
    log.insert("sale_line", sale(1, 1, at("09:00")))
    position, stream = log.state.position, log.state.stream_time_us
    beat = {"id": 1, "beat": 1, "occurred_at": at("10:00")}

    key, log.key = log.key, "~heartbeat|0"
    log.update("pipeline_heartbeat", beat, beat, commit=at("10:00"))
    log.key = key

    assert log.partition.newest_commit_us == at("10:00")
    assert (log.state.position, log.state.stream_time_us) == (position, stream)
    assert (position.generation, position.offset) == (7, 0)


@pytest.mark.domain("2.2 u")
def test_an_update_makes_no_decision_between_retraction_and_new_image() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("item_location", SS)
    log.insert("stock_count", count(1, 5, at("08:00")))
    found = order_line(1, 60)
    log.insert("purchase_order_line", found)
    assert log.state.episode.state == "idle"

    # An update retracts the old line first. A decision at that moment would see B below s.
    folded = log.update("purchase_order_line", found, found | {"due_on": 5, "status": "closed"})

    assert applied(folded).outputs == ()


@pytest.mark.domain("2.2 change of inv_key")
def test_a_row_moved_to_another_key_changes_the_stock_of_both_keys() -> None:
    log, row = Log(commit_us=at("12:00")), sale(1, 2, at("09:00"))
    log.insert("sale_line", row)
    log.delete("sale_line", row, lsn=7)
    first, log.key = InvKey(log.key), "LONDON|22423"
    log.insert("sale_line", row, lsn=7)

    assert log.partition.states[first].on_hand_units == 0
    assert log.state.on_hand_units == -2


@pytest.mark.domain("2.3 item_location", "11.3 Clock mode")
def test_an_item_that_is_no_longer_ranged_keeps_stock_and_clock() -> None:
    log, ranged = Log(commit_us=at("12:00")), SS | {"clock_mode": "replayed", "reviewed_at": 0}
    log.insert("item_location", ranged)
    log.insert("stock_count", count(1, 5, at("08:00")))
    assert log.state.episode.state == "open"

    folded = log.delete("item_location", ranged)

    assert [output.status for output in applied(folded).outputs] == ["cancelled"]
    assert (log.state.on_hand_units, log.state.allocated_units) == (5, 0)
    assert (log.state.clock_mode, log.state.stream_time_us) == ("replayed", at("08:00"))


@pytest.mark.domain("2.3 price_change; decisions; heartbeat")
def test_prices_and_decisions_move_no_stock() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("stock_count", count(1, 5, at("08:00")))
    stock = log.state.stock

    log.insert("price_change", price(1, 999, at("08:00")))
    log.insert("reorder_decision", {"id": 1, "reorder_id": "R:x", "action": "approve"})
    log.insert("price_decision", {"id": 1, "proposal_id": "P:x", "action": "approve"})

    assert log.state.stock == stock
    assert [row.price_minor for row in log.state.timeline] == [999]


@pytest.mark.domain("11.3 Switched to live", "11.3 Replayed only")
def test_a_key_switched_to_live_takes_the_later_of_stream_and_commit_time() -> None:
    for commit, expected in ((at("07:00", day=1), at("08:00", day=1)), (at("09:00", day=2),) * 2):
        log, replayed = Log(commit_us=at("00:00", day=1)), policy(clock_mode="replayed")
        log.insert("item_location", replayed)
        log.insert("stock_count", count(1, 5, at("08:00", day=1)), recorded=at("08:00", day=1))

        log.update("item_location", replayed, policy(), commit=commit)
        assert log.state.stream_time_us == expected
        # A live key's facts no longer move its clock.
        log.insert("sale_line", sale(1, 1, at("00:00", day=9)), commit=commit, lsn=1)
        assert log.state.stream_time_us == expected


@pytest.mark.domain("11.3 No stream time")
def test_a_replayed_key_without_stream_time_makes_no_decision() -> None:
    log = Log(commit_us=at("12:00"))
    log.insert("item_location", SS | {"clock_mode": "replayed"})

    folded = log.insert("purchase_order_line", order_line(1, 5))

    assert applied(folded).outputs == ()
    assert (log.state.stream_time_us, log.state.episode.reason) == (None, None)


@pytest.mark.domain("11.5 Zero row")
def test_a_window_row_with_zero_sales_remains_until_it_expires() -> None:
    log, row = Log(commit_us=at("12:00")), sale(1, 2, at("09:00"), amount=5)
    log.insert("sale_line", row)

    log.delete("sale_line", row)

    assert counters(log.state, "09:00") == (0, 0, 0, 0, 0, 1, 2)
    log.insert("sale_line", sale(2, 1, at("09:00", day=4)), commit=at("09:00", day=4))
    assert counters(log.state, "09:00") is None


@pytest.mark.domain("11.6 Defaults", "11.6 Later days")
def test_demand_of_an_item_without_policy_uses_the_defaults() -> None:
    log = Log(commit_us=at("08:00"))
    log.insert("sale_line", sale(1, 1, at("07:00")))
    log.insert("sale_line", sale(2, 8, at("09:00", day=1)), commit=at("09:00", day=1))
    log.insert("sale_line", sale(3, 16, at("09:00", day=2)), commit=at("09:00", day=2))

    log.insert("sale_line", sale(4, 1, at("00:10", day=3)), commit=at("00:10", day=3))

    demand = log.state.demand
    assert (demand.rate_micro, demand.mad_micro) == (9_000_000, 4_500_000)
    # The rate after that day's observation, not before it.
    assert demand.rate_at_last_sale_micro == 9_000_000
    assert demand.quiet_windows == 0


@pytest.mark.domain("11.1 Before the record", "11.6 Rules of a day")
def test_a_day_that_passes_the_horizon_uses_the_policy_before_the_update() -> None:
    log, before = Log(commit_us=at("08:00")), policy(trading_windows=144)
    log.insert("item_location", before)
    log.insert("stock_count", count(1, 9, at("07:00")))
    log.insert("sale_line", sale(1, 1, at("07:00", day=1)), commit=at("07:00", day=1))

    # Days 1 and 2 pass the horizon of day 6; days 3 to 5 are still retained.
    after = policy(trading_windows=100)
    log.update("item_location", before, after, commit=at("00:10", day=6))

    assert log.state.final_demand.quiet_windows == 144
    assert log.state.demand.quiet_windows == 144 + 3 * 100


PRICED = policy(price_mode="advise", regular_minor=999, cost_minor=500)


@pytest.mark.domain("11.3 Raised review")
def test_only_a_later_review_mark_opens_a_periodic_need() -> None:
    """A periodic item's need opens on a record that raises the review mark, and on no other."""
    day = at("06:00", day=1)
    periodic = policy(replenish_family="RsS", reorder_point_units=20, order_up_to_units=60)
    for before, after, opens in (
        (None, day, True), (day, day, False), (day, day - 1, False), (day, None, False),
        (day, day + 1, True),
    ):  # fmt: skip
        log = Log(commit_us=at("12:00"))
        log.insert("stock_count", count(1, 5, at("08:00")))
        log.insert("item_location", periodic)
        old = periodic | {"reviewed_at": before}

        folded = log.update("item_location", old, old | {"reviewed_at": after})

        assert [output.status for output in applied(folded).outputs] == ["open"] * opens
    log = Log(commit_us=at("12:00"))
    log.insert("stock_count", count(1, 5, at("08:00")))
    assert applied(log.insert("item_location", periodic | {"reviewed_at": day})).outputs != ()


@pytest.mark.domain("11.9 Evaluated")
def test_a_change_of_a_pricing_input_evaluates_the_price() -> None:
    """The price is below its floor, so an evaluation opens a proposal, which the test sees."""
    dear = {"cost_minor": 2000}
    for change, evaluated in (
        ({"cost_minor": 2001}, True),
        ({"lead_minutes": 31}, True),
        ({"reviewed_at": at("12:00")}, True),
        ({"pack_units": 7}, False),
        ({"allocated_units": 1}, False),
        ({}, False),
    ):
        log = Log(commit_us=at("12:00"))
        log.insert("item_location", PRICED)
        log.insert("price_change", price(1, 999, at("00:00")))
        # The log has no record of the higher cost, so no record has caused an evaluation with it.
        old = PRICED | dear
        log.update("item_location", old, old | change)
        assert (log.state.price_episode.id is not None) is evaluated, change

    log = Log(commit_us=at("12:00"))
    log.insert("price_change", price(1, 999, at("00:00")), commit=at("12:00:01"))
    early = log.insert("item_location", PRICED | dear, commit=at("12:09:59"))
    assert applied(early).outputs == ()
    beat = log.insert("sale_line", sale(1, 1, at("12:00")), commit=at("12:10"))
    assert [output.status for output in applied(beat).outputs] == ["open"]
    first = Log(commit_us=at("12:00"))
    folded = first.insert("item_location", PRICED | dear)
    assert [output.status for output in applied(folded).outputs] == ["open"]
