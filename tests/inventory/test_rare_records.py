"""Rare records, each with its effects and the fields that it must not change."""

from dataclasses import replace
from typing import Any

import pytest

from inventory.errors import LIMIT, OVERFLOW, Rejected
from inventory.explain.key import explain_at
from inventory.explain.lines import ADD, Source
from inventory.explain.needs import levels_section
from inventory.explain.stock import Cause, CountFact, Document, StockFacts, stock_section
from inventory.fold.partition import Partition
from inventory.fold.record import Refused, Replayed, Resent
from inventory.log.dedupe import HORIZON_US, Admission, Ring
from inventory.model.arithmetic import MAX_STORED, WINDOW_US
from inventory.model.ranges import check_ranges, check_time
from inventory.model.record import Record
from inventory.reports.sales_spans import Hop, hops
from tests.inventory.builders import KEY, MONDAY_US, Log, at, count, order_line, policy, sale

START_US = 1_700_000_000_000_000


def change(row_id: int, commit_us: int, *, lsn: int) -> Record:
    return Record(0, "L|S", "sale_line", "c", None, {"id": row_id}, lsn, commit_us)


def test_a_before_image_without_an_id_is_malformed() -> None:
    deleted = Record(0, "L|S", "sale_line", "d", {"units": 1}, None, 1, START_US)

    assert Ring().admit(deleted) is Admission.MALFORMED


def test_an_order_whose_time_is_no_integer_is_refused() -> None:
    folded = Log().insert("purchase_order_line", order_line(1, 5, ordered_at="soon"))

    assert folded == Refused(folded.state, LIMIT, "ordered_at must be an integer, got 'soon'")


@pytest.mark.parametrize("sign", [1, -1])
def test_a_stream_time_beyond_the_stored_range_is_refused(sign: int) -> None:
    check_time(sign * MAX_STORED)

    with pytest.raises(Rejected, match=f"stream time: .*got {sign * (MAX_STORED + 1)}$") as refused:
        check_time(sign * (MAX_STORED + 1))
    assert refused.value.reason == OVERFLOW


@pytest.mark.parametrize("found", [MAX_STORED + 1, -MAX_STORED - 1])
def test_stock_beyond_the_stored_range_is_refused(found: int) -> None:
    log = Log()
    log.insert("stock_count", count(1, 50, at("00:00")))
    beyond = replace(log.state, stock=replace(log.state.stock, shrink_units=found))

    with pytest.raises(Rejected, match=f"stock: .*got {found}$"):
        check_ranges(log.state, beyond, (), ())


def test_the_dedupe_ring_holds_a_repeated_change_by_its_later_commit_time() -> None:
    # The first member is newer, so the ring hasn't dropped the older member behind it.
    ring, again = Ring(), change(2, START_US - 50_000_000, lsn=9)
    ring.admit(change(1, START_US, lsn=1))
    ring.admit(again)
    ring.admit(change(3, START_US + 100_000_000, lsn=2))
    later = replace(again, commit_us=START_US + 90_000_000)
    assert ring.admit(later) is Admission.NEW

    ring.admit(change(4, START_US + HORIZON_US + 80_000_000, lsn=3))

    assert ring.admit(later) is Admission.RESENT


def test_a_resent_record_of_an_unknown_key_makes_no_state() -> None:
    log = Log()
    refused = log.insert("sale_line", {**sale(1, 2, at("10:00")), "quantity_units": 0})
    assert isinstance(refused, Refused)

    assert log.send(replace(log.records[0], offset=1)) == Resent(None)
    assert KEY not in log.partition.states


def test_a_record_at_or_before_the_position_is_replayed_without_effect() -> None:
    log = Log()
    log.insert("sale_line", sale(1, 2, at("10:00")))
    before = log.state

    again = log.send(log.records[0])

    assert (again, again.verdict) == (Replayed(before), "replayed")
    assert log.state is before


def test_the_newest_commit_time_covers_ring_and_archived_records() -> None:
    partition = Partition(1)

    partition.apply_admitted(change(1, START_US, lsn=1), Admission.NEW)
    assert partition.newest_commit_us == START_US
    partition.apply_admitted(replace(change(2, START_US - 1, lsn=2), offset=1), Admission.NEW)
    assert partition.newest_commit_us == START_US

    partition.apply(replace(change(3, START_US + 5, lsn=3), offset=2))
    assert partition.newest_commit_us == START_US + 5
    assert Partition(1).newest_commit_us is None


def test_demand_observes_each_complete_day_after_a_count() -> None:
    log = Log(commit_us=at("09:00"))
    log.insert("item_location", policy(replenish_family="sS", initial_rate_micro=1_000_000))
    log.insert("stock_count", count(1, 9, at("09:30")), commit=at("10:00"))
    log.insert("sale_line", sale(1, 2, at("11:00")), commit=at("11:00"))

    log.insert("sale_line", sale(2, 1, at("12:00", day=6)), commit=at("12:00", day=6))

    assert log.state.on_hand_units == 6
    assert log.state.demand.observed_days == 5


def test_overlapping_hops_each_sum_their_own_windows() -> None:
    sold = {MONDAY_US: 2, MONDAY_US + WINDOW_US: 3, MONDAY_US + 2 * WINDOW_US: 5}
    now_us = MONDAY_US + 3 * WINDOW_US

    found = hops(sold, span_us=2 * WINDOW_US, count=2, now_us=now_us)

    assert found == (
        Hop(MONDAY_US, MONDAY_US + 2 * WINDOW_US, 5, is_settled=True),
        Hop(MONDAY_US + WINDOW_US, MONDAY_US + 3 * WINDOW_US, 8, is_settled=False),
    )


def test_the_explanation_of_the_cover_family_shows_two_spans_of_demand() -> None:
    log = Log()
    ranged = policy(
        replenish_family="cover",
        levels="computed",
        initial_rate_micro=2_000_000,
        min_cover_centidays=300,
        max_cover_centidays=1000,
    )
    log.insert("item_location", ranged)
    log.insert("stock_count", count(1, 50, at("00:00")))

    lines = {line.name: line for line in levels_section(log.state).lines}

    assert lines["min_cover_demand_units"].amount == log.state.reorder_point_units == 6
    assert lines["order_up_to_units"].amount == log.state.order_up_to_units == 20
    assert "10.00 d, 20" in lines["batch_units"].detail


def test_an_explanation_has_extra_lines_for_facts_missing_from_the_state() -> None:
    log = Log()
    log.insert("stock_count", count(7, 50, at("00:00")))
    counted = CountFact(7, 50, at("00:00"), "cycle", "ann")
    order = Document("PO-1", "ACME", Source("purchase_order_line", 1), 4, 0)
    plain = Document("PO-2", "", Source("purchase_order_line", 2), 0, 0)
    causes = (
        Cause("sales", -3, 2, "till"),
        Cause("returns", 0, 0, ""),
        Cause("receipts", 1, 1, ""),
    )
    facts = StockFacts(counted, causes, (order, plain))

    steps = [line for line in stock_section(log.state, facts).lines if line.part == ADD]

    assert [(line.name, line.amount, line.detail) for line in steps][:7] == [
        ("last_count_units", 50, "cycle"),
        ("sales_units", -3, "2 rows: till"),
        ("returns_units", 0, ""),
        ("receipts_units", 1, "1 row"),
        ("on_hand_not_in_state_units", 2, "not arrived yet, or rejected"),
        ("on_hand_clamp_units", 0, ""),
        ("on_order_units", 4, "PO-1, ACME"),
    ]
    assert steps[0].source == Source("stock_count", 7, "ann")
    assert [line.detail for line in steps if line.name == "on_order_units"][1] == "PO-2"


def test_an_explanation_has_no_extra_line_for_facts_in_the_state() -> None:
    log = Log()
    log.insert("stock_count", count(7, 50, at("00:00")))
    counted = CountFact(7, 50, at("00:00"), "cycle", None)

    lines = stock_section(log.state, StockFacts(counted, (), ())).lines

    assert [line.name for line in lines if "not_in_state" in line.name] == []


def test_an_explanation_at_a_business_time_from_facts_has_only_stock_and_price() -> None:
    counted = CountFact(7, 50, at("00:00"), "cycle", None)

    sections = explain_at(StockFacts(counted, (), ()), None, at("10:00"))

    assert [section.name for section in sections] == ["stock", "price", "source"]
    assert sections[0].lines[-1].amount == 50


def test_an_explanation_at_a_business_time_from_a_state_has_all_sections() -> None:
    log = Log()
    fixed: dict[str, Any] = {"levels": "fixed", "reorder_point_units": 20, "order_up_to_units": 60}
    log.insert("item_location", policy(replenish_family="sS", **fixed))
    log.insert("stock_count", count(7, 10, at("00:00")))

    sections = explain_at(StockFacts(None, (), ()), None, at("10:00"), log.state)

    names = ["stock", "demand", "levels", "quantity", "price", "hold", "source"]
    assert [section.name for section in sections] == names
    found = {line.name: line.amount for part in sections for line in part.lines}
    assert found["quantity_units"] == 50
    assert found["known_on_hand_units"] == 10
    assert found["policy_offset"] == log.state.position.offset
