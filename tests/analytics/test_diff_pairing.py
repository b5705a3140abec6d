"""Pairs of needs under two rules, and the classes of their differences."""

from collections.abc import Iterable, Sequence
from itertools import zip_longest

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analytics.backfill.diff.difference import Difference, difference, monday_of
from analytics.backfill.diff.pairing import Course, KeyPairs, Pair
from analytics.backfill.diff.revised import Revised, price, reorder
from cdc.contracts.decisions import DecisionContext, PriceEvent, ReorderEvent
from cdc.contracts.rejects import Origin
from inventory.model.ids import ProposalId, ReorderId
from inventory.model.outputs import PriceOutput, ReorderOutput

Span = tuple[int, int | None]  # offsets of opening and closing; None if the need stays open
Spans = list[Span]
LEVELS = (("on_hand_units", 5), ("reorder_point_units", 20))


def at(offset: int) -> DecisionContext:
    return DecisionContext("L0|S3", Origin(1, 7, offset), offset * 1_000_000, 2)


def need(
    offset: int,
    opened: int,
    *,
    status: str = "open",
    units: int = 60,
    supplier: str | None = "ACME",
    terms: tuple[tuple[str, int], ...] = LEVELS,
) -> Revised:
    """Return a revision at `offset` of the need that the record at offset `opened` opened."""
    output = ReorderOutput(
        id=ReorderId(f"R:L0|S3:1-{opened}"),
        revision=1,
        status=status,
        quantity_units=units if status == "open" else None,
        base_position_units=5,
        reorder_point_units=20,
        order_up_to_units=60,
        flags=(),
        reason="need_gone" if status == "cancelled" else None,
        terms=terms,
    )
    return reorder(ReorderEvent(output, supplier, 500, at(offset)))


def proposal(offset: int, new_minor: int, *, status: str = "open") -> Revised:
    output = PriceOutput(
        id=ProposalId("P:L0|S3:1-1"),
        revision=1,
        status=status,
        old_minor=1000,
        new_minor=new_minor,
        step=1,
        signal="overstock",
        clamps=(),
        effective_at_us=0,
        prior_minor=None,
        reason=None,
        floor_minor=500,
        regular_minor=1000,
    )
    return price(PriceEvent(output, at(offset)))


def pairs_of(ours: Iterable[Revised], theirs: Iterable[Revised]) -> Sequence[Pair]:
    """Return the pairs in the order in which they end."""
    by_offset = [{one.offset: one for one in side} for side in (ours, theirs)]
    pairs = KeyPairs()
    found: list[Pair] = []
    for offset in sorted(by_offset[0].keys() | by_offset[1].keys()):
        found += pairs.take(offset, (by_offset[0].get(offset), by_offset[1].get(offset)))
    return [*found, *pairs.rest()]


def differences(ours: Iterable[Revised], theirs: Iterable[Revised]) -> list[Difference | None]:
    """Return the difference of each pair, None for equal ones."""
    return [difference(pair, 7) for pair in pairs_of(ours, theirs)]


def spans(found: Spans) -> list[Revised]:
    events = [need(begin, begin) for begin, _ in found]
    ends = [need(end, begin, status="cancelled") for begin, end in found if end is not None]
    return sorted((*events, *ends), key=lambda one: one.offset)


def classes(ours: Spans, theirs: Spans) -> list[str]:
    found = differences(spans(ours), spans(theirs))
    return sorted("equal" if one is None else one.how for one in found)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([(10, 90)], [(10, 90)], ["equal"]),
        ([(10, None)], [(10, None)], ["equal"]),
        ([(10, 90)], [(14, 80)], ["course"]),
        ([(10, 90)], [(10, None)], ["course"]),
        ([(10, 90)], [(12, 30), (40, 95)], ["course", "only_b"]),
        ([(12, 30), (40, 95)], [(10, 90)], ["course", "only_a"]),
        ([(10, 20)], [(20, 30)], ["only_a", "only_b"]),
        ([(10, 20), (20, 30)], [(5, 40)], ["course", "only_a"]),
        ([(10, 50)], [], ["only_a"]),
        ([], [(10, None)], ["only_b"]),
    ],
)
def test_needs_form_a_pair_if_they_are_open_at_one_record(
    ours: Spans, theirs: Spans, expected: list[str]
) -> None:
    assert classes(ours, theirs) == expected


@st.composite
def drawn_spans(draw: st.DrawFn) -> Spans:
    """Return needs of one key in log order; only the last may be open."""
    edges: list[int] = sorted(draw(st.lists(st.integers(0, 40), max_size=10, unique=True)))
    return list(zip_longest(edges[::2], edges[1::2]))


def overlap(ours: Span, theirs: Span) -> bool:
    return (theirs[1] is None or ours[0] < theirs[1]) and (ours[1] is None or theirs[0] < ours[1])


def paired(ours: Spans, theirs: Spans) -> list[tuple[Span | None, Span | None]]:
    """Return the pairs as spans, sorted."""
    found = [
        (span_of(pair.courses[0]), span_of(pair.courses[1]))
        for pair in pairs_of(spans(ours), spans(theirs))
    ]
    return sorted(found, key=str)


def span_of(course: Course | None) -> Span | None:
    return None if course is None else (course.first.offset, course.closed_offset)


@given(drawn_spans(), drawn_spans())
def test_each_need_is_in_one_pair_and_no_overlapping_needs_remain_unpaired(
    ours: Spans, theirs: Spans
) -> None:
    found = paired(ours, theirs)

    assert sorted((one for one, _ in found if one), key=str) == sorted(ours, key=str)
    assert sorted((other for _, other in found if other), key=str) == sorted(theirs, key=str)
    assert all(overlap(one, other) for one, other in found if one and other)
    alone = [one for one, other in found if one and not other]
    others = [other for one, other in found if other and not one]
    assert not any(overlap(one, other) for one in alone for other in others)
    assert sorted(((one, other) for other, one in paired(theirs, ours)), key=str) == found
    assert all(one == other for one, other in paired(ours, ours))


def test_a_new_need_ends_an_earlier_need_that_was_not_closed() -> None:
    found = differences([need(10, 10), need(20, 20)], [])

    assert [one.how for one in found if one] == ["only_a", "only_a"]


def test_quantity_and_supplier_are_decisions_but_other_terms_are_explanations() -> None:
    ours = [need(10, 10)]
    more_terms = (*LEVELS, ("weather", 1))

    classes = {
        name: difference.how if difference else None
        for name, theirs in {
            "units": need(10, 10, units=66),
            "supplier": need(10, 10, supplier=None),
            "terms": need(10, 10, terms=more_terms),
            "nothing": need(10, 10),
        }.items()
        for difference in differences(ours, [theirs])
    }

    assert classes == {
        "units": "changed",
        "supplier": "changed",
        "terms": "explanation",
        "nothing": None,
    }


def test_an_amended_need_counts_with_its_last_open_quantity() -> None:
    ours = [need(10, 10), need(20, 10, units=72), need(30, 10, status="accepted")]
    theirs = [need(10, 10), need(20, 10, units=66), need(30, 10, status="accepted")]

    (found,) = differences(ours, theirs)

    assert found is not None
    shown = {name: found.row[name] for name in ("a_quantity_units", "b_quantity_units")}
    assert shown == {"a_quantity_units": 72, "b_quantity_units": 66}
    assert (found.how, found.row["first_offset"]) == ("changed", 20)
    assert (found.row["delta_units"], found.row["delta_minor"]) == (-6, -3000)
    assert (found.row["a_status"], found.row["a_closed_offset"]) == ("accepted", 30)


def test_a_snoozed_need_opens_again_and_a_snoozed_proposal_is_closed() -> None:
    snoozed = [need(10, 10), need(20, 10, status="snoozed"), need(30, 10)]
    again = [proposal(10, 900), proposal(20, 900, status="snoozed"), proposal(30, 900)]

    assert [one.how for one in differences(snoozed, []) if one] == ["only_a"]
    assert [one.how for one in differences(again, []) if one] == ["only_a", "only_a"]


@pytest.mark.parametrize(
    ("ours", "theirs", "delta"), [([900], [880], -20), ([900], [], 100), ([], [900], -100)]
)
def test_a_run_without_a_proposal_keeps_the_old_price(
    ours: list[int], theirs: list[int], delta: int
) -> None:
    (found,) = differences(
        [proposal(10, minor) for minor in ours], [proposal(10, minor) for minor in theirs]
    )

    assert found is not None
    assert found.row["delta_minor"] == delta
    assert found.row["reason"] == "overstock"


def test_the_reason_names_a_differing_term_another_record_or_the_closing() -> None:
    earlier = (("on_hand_units", 9), ("reorder_point_units", 20))
    higher = (("on_hand_units", 9), ("reorder_point_units", 23))

    by_rule = differences([need(10, 10)], [need(12, 12, terms=higher)])
    by_record = differences([need(10, 10)], [need(12, 12, terms=earlier)])
    by_shelf = differences([need(10, 10)], [need(10, 10, terms=earlier)])
    by_end = differences([need(10, 10), need(12, 10, status="cancelled")], [])

    reasons = [found.row["reason"] for (found,) in (by_rule, by_record, by_shelf, by_end) if found]
    assert reasons == [
        *("reorder_point_units", "other_record", "on_hand_units"),
        "cancelled: need_gone",
    ]


def test_a_week_begins_on_monday() -> None:
    sunday_us = 1_772_323_200_000_000  # 2026-03-01

    assert monday_of(sunday_us) == "2026-02-23"
    assert monday_of(sunday_us + 86_400_000_000) == "2026-03-02"
