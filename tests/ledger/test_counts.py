"""Counts by two people: blind sheets, tolerance, approval, and late facts in a variance."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.services import Approved, Conflict, Entry, ServiceError
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import write


def now(ledger: psycopg.Connection) -> datetime:
    found = ledger.execute("SELECT clock_timestamp()").fetchone()
    assert found is not None
    at: datetime = found[0]
    return at


@pytest.fixture
def shelf(ledger: psycopg.Connection) -> psycopg.Connection:
    """Range L|S at a cost of 4.00 a unit, with 20 units counted three hours ago, and L|T."""
    write(ledger, "item_location", cost_minor=400)
    write(ledger, "item_location", sku="T")
    write(
        ledger,
        "stock_count",
        units=20,
        kind="opening",
        occurred_at=now(ledger) - timedelta(hours=3),
    )
    return ledger


def entry(sku: str = "S", units: int = 1, at: datetime | None = None) -> Entry:
    return Entry(uuid4(), sku, units, at)


def draft(units: int, *, sku: str = "S", actor: str = "ann", at: datetime | None = None) -> int:
    """Count one item on its own sheet, submit the sheet, and return the id of the count."""
    sheet = services.open_sheet(location="L", actor=actor)
    assert services.add_entries(sheet_id=sheet, entries=[entry(sku, units, at)], actor=actor) == ()
    (count_id,) = services.submit_sheet(sheet_id=sheet, actor=actor).count_ids
    return count_id


def count_row(ledger: psycopg.Connection, count_id: int) -> tuple[Any, ...] | None:
    return ledger.execute(
        "SELECT units, kind, status, counted_by, approved_by, expected_units, recount_of"
        " FROM retail.stock_count WHERE id = %s",
        [count_id],
    ).fetchone()


def sell(ledger: psycopg.Connection, units: int, at: datetime, ref: str = "1") -> int:
    return write(
        ledger, "sale_line", source_ref=ref, quantity_units=units, amount_minor=1, occurred_at=at
    )


def expected(ledger: psycopg.Connection, count_id: int) -> int:
    found = ledger.execute(
        "SELECT e.expected_units FROM retail.stock_count c, LATERAL app.expected_at(c.inv_key,"
        " retail.business_at(c.occurred_at, c.recorded_at), c.id) e WHERE c.id = %s",
        [count_id],
    ).fetchone()
    assert found is not None
    return int(found[0])


def test_entries_of_an_item_add_up_to_one_draft_count(
    shelf: psycopg.Connection,
) -> None:
    sheet = services.open_sheet(location="L", actor="ann")
    entries = [entry(units=12), entry(units=7), entry("T", 0)]
    services.add_entries(sheet_id=sheet, entries=entries, actor="ann")

    submitted = services.submit_sheet(sheet_id=sheet, actor="ann")

    assert submitted.refused == ()
    first, second = submitted.count_ids
    assert count_row(shelf, first) == (19, "cycle", "draft", "ann", None, None, None)
    assert count_row(shelf, second) == (0, "opening", "draft", "ann", None, None, None)


def test_an_entry_that_is_sent_twice_is_kept_once(shelf: psycopg.Connection) -> None:
    sheet = services.open_sheet(location="L", actor="ann")
    scan = entry(units=3)

    for _ in range(2):
        assert services.add_entries(sheet_id=sheet, entries=[scan], actor="ann") == ()
    others = [replace(scan, units=4), replace(scan, sku="T")]
    refused = services.add_entries(sheet_id=sheet, entries=others, actor="ann")

    for row in refused:
        assert "this form has already saved 3 units of S" in row.rule
    assert len(refused) == 2
    (count_id,) = services.submit_sheet(sheet_id=sheet, actor="ann").count_ids
    assert count_row(shelf, count_id) == (3, "cycle", "draft", "ann", None, None, None)


def test_all_invalid_entries_are_reported_and_the_valid_ones_are_saved(
    shelf: psycopg.Connection,
) -> None:
    sheet = services.open_sheet(location="L", actor="ann")
    old = now(shelf) - timedelta(hours=49)
    rows = [entry(), entry("NOPE"), entry(units=-1), entry("a|b"), entry(at=old), entry("T", 2)]

    refused = services.add_entries(sheet_id=sheet, entries=rows, actor="ann")

    assert [(r.entry_id, r.field) for r in refused] == [
        (rows[1].entry_id, "sku"),
        (rows[2].entry_id, "units"),
        (rows[3].entry_id, "sku"),
        (rows[4].entry_id, "counted_at"),
    ]
    assert len(services.submit_sheet(sheet_id=sheet, actor="ann").count_ids) == 2


def test_an_item_refused_at_submission_stays_on_the_open_sheet(
    shelf: psycopg.Connection,
) -> None:
    sheet = services.open_sheet(location="L", actor="ann")
    many = [entry(units=1_000_000), entry(units=1), entry("T", 2)]
    services.add_entries(sheet_id=sheet, entries=many, actor="ann")

    first = services.submit_sheet(sheet_id=sheet, actor="ann")
    services.undo_entry(sheet_id=sheet, entry_id=many[1].entry_id, actor="ann")
    # T was handed in with two units. A second count of T would have one unit and replace the first.
    (late,) = services.add_entries(sheet_id=sheet, entries=[many[2], entry("T", 1)], actor="ann")
    second = services.submit_sheet(sheet_id=sheet, actor="ann")

    assert [(row.sku, row.field, row.value) for row in first.refused] == [("S", "units", "1000001")]
    assert "count of this item on this sheet is already handed in" in late.rule
    assert (len(first.count_ids), len(second.count_ids), second.refused) == (1, 1, ())
    with pytest.raises(Conflict, match="handed in"):
        services.submit_sheet(sheet_id=sheet, actor="ann")


def test_a_person_cannot_add_entries_to_the_sheet_of_another_person(
    shelf: psycopg.Connection,
) -> None:
    sheet = services.open_sheet(location="L", actor="ann")

    with pytest.raises(ServiceError, match="this sheet belongs to ann"):
        services.add_entries(sheet_id=sheet, entries=[entry()], actor="bob")


def test_a_count_with_a_future_time_gets_the_time_of_sending(shelf: psycopg.Connection) -> None:
    before = now(shelf)

    count_id = draft(20, at=before + timedelta(hours=1))

    found = shelf.execute(
        "SELECT occurred_at FROM retail.stock_count WHERE id = %s", [count_id]
    ).fetchone()
    assert found is not None
    assert before <= found[0] <= now(shelf)


def test_another_person_than_the_counter_approves(shelf: psycopg.Connection) -> None:
    count_id = draft(19)

    with pytest.raises(ServiceError, match="another person"):
        services.approve_waiting_count(count_id=count_id, actor="ann")

    done = services.approve_waiting_count(count_id=count_id, actor="max")
    assert done == Approved(count_id, 20, -1)
    assert count_row(shelf, count_id) == (19, "cycle", "approved", "ann", "max", 20, None)


def test_a_draft_without_a_counter_belongs_to_the_person_who_recorded_it(
    shelf: psycopg.Connection,
) -> None:
    # Another system writes a draft without the columns for the person who counted.
    count_id = write(
        shelf, "stock_count", units=20, status="draft", recorded_by="ann", occurred_at=now(shelf)
    )

    with pytest.raises(ServiceError, match="another person"):
        services.approve_waiting_count(count_id=count_id, actor="ann")

    services.approve_waiting_count(count_id=count_id, actor="bob")
    assert count_row(shelf, count_id) == (20, "cycle", "approved", "ann", "bob", 20, None)


def test_a_database_constraint_refuses_counts_approved_by_their_counter(
    till: psycopg.Connection,
) -> None:
    with pytest.raises(psycopg.errors.CheckViolation, match="four_eyes"):
        write(till, "stock_count", counted_by="ann", approved_by="ann")


@pytest.mark.parametrize(
    ("on_shelf", "counted", "is_within"),
    [
        (20, 18, True),  # tolerance max(2, ceil(20, 10)) = 2
        (20, 17, False),
        (21, 24, True),  # ceil(21, 10) = 3
        (21, 25, False),
        (0, 2, True),
        (0, 3, False),
        (-7, 0, False),  # ceil(-7, 10) = 0, so 2 units
        (100, 110, True),
        (100, 111, False),
    ],
)
def test_a_difference_over_the_tolerance_needs_a_second_blind_count(
    ledger: psycopg.Connection, *, on_shelf: int, counted: int, is_within: bool
) -> None:
    write(ledger, "item_location")
    write(ledger, "stock_count", units=1000, occurred_at=now(ledger) - timedelta(hours=3))
    sell(ledger, 1000 - on_shelf, now(ledger) - timedelta(hours=2))
    count_id = draft(counted)

    if is_within:
        done = services.approve_waiting_count(count_id=count_id, actor="max")
        assert done.variance_units == counted - on_shelf
    else:
        with pytest.raises(Conflict, match="second blind count"):
            services.approve_waiting_count(count_id=count_id, actor="max")


def test_the_second_blind_count_takes_the_place_of_the_first(shelf: psycopg.Connection) -> None:
    first = draft(9)

    second = draft(10, actor="bob")

    assert count_row(shelf, first) == (9, "cycle", "void", "ann", None, None, None)
    assert count_row(shelf, second) == (10, "recount", "draft", "bob", None, None, first)
    with pytest.raises(Conflict, match="counted the item again"):
        services.approve_waiting_count(count_id=first, actor="max")
    done = services.approve_waiting_count(count_id=second, actor="max")
    assert (done.expected_units, done.variance_units) == (20, -10)


def test_a_count_with_a_requested_recount_cannot_be_approved(shelf: psycopg.Connection) -> None:
    first = draft(20)
    services.ask_for_recount(count_id=first, actor="max")

    with pytest.raises(Conflict, match="was requested: have the item counted again"):
        services.approve_waiting_count(count_id=first, actor="max")
    second = draft(19, actor="ann")

    assert services.approve_waiting_count(count_id=second, actor="max").variance_units == -1


def test_the_first_count_of_an_item_is_an_opening_count_without_tolerance(
    shelf: psycopg.Connection,
) -> None:
    count_id = draft(77, sku="T")

    services.approve_waiting_count(count_id=count_id, actor="max")

    assert count_row(shelf, count_id) == (77, "opening", "approved", "ann", "max", 0, None)


def test_only_sales_before_the_time_of_a_count_change_its_expected_units(
    shelf: psycopg.Connection,
) -> None:
    """Late sales from before the count change the expected units. Sales after the count don't."""
    at = now(shelf) - timedelta(minutes=10)
    count_id = draft(20, at=at)
    sell(shelf, 3, at + timedelta(minutes=5), "after")
    shown = expected(shelf, count_id)
    sell(shelf, 1, at - timedelta(minutes=5), "before, and late")

    with pytest.raises(
        Conflict, match="expected stock was 20 units when this page was loaded, and is 19"
    ):
        services.approve_waiting_count(count_id=count_id, actor="max", shown_expected_units=shown)

    done = services.approve_waiting_count(count_id=count_id, actor="max", shown_expected_units=19)
    assert done.variance_units == 1


def test_a_sale_during_the_approval_of_a_count_still_reduces_on_hand(
    shelf: psycopg.Connection,
) -> None:
    at = now(shelf) - timedelta(minutes=10)
    count_id = draft(19, at=at)

    results = at_the_same_time(
        lambda: services.approve_waiting_count(count_id=count_id, actor="max"),
        lambda: services.record_sale(
            services.RecordSale(
                location="L",
                sku="S",
                quantity_units=4,
                amount_minor=1,
                source="till",
                source_ref="during",
            )
        ),
    )

    assert results[0] == Approved(count_id, 20, -1)
    found = shelf.execute(
        "SELECT expected_units FROM app.expected_at('L|S', clock_timestamp(), 9223372036854775807)"
    ).fetchone()
    assert found == (15,)


def test_a_late_sale_changes_the_variance_and_its_deletion_restores_it(
    shelf: psycopg.Connection,
) -> None:
    at = now(shelf) - timedelta(minutes=10)
    count_id = draft(19, at=at)
    services.approve_waiting_count(count_id=count_id, actor="max")

    late = sell(shelf, 1, at - timedelta(minutes=1), "late")
    assert expected(shelf, count_id) == 19
    shelf.execute("DELETE FROM retail.sale_line WHERE id = %s", [late])

    assert expected(shelf, count_id) == 20
    assert count_row(shelf, count_id) == (19, "cycle", "approved", "ann", "max", 20, None)


def test_two_simultaneous_approvals_approve_a_count_once(shelf: psycopg.Connection) -> None:
    count_id = draft(20)

    results = at_the_same_time(
        lambda: services.approve_waiting_count(count_id=count_id, actor="max"),
        lambda: services.approve_waiting_count(count_id=count_id, actor="moe"),
    )

    (won,) = (r for r in results if isinstance(r, Approved))
    (lost,) = (r for r in results if isinstance(r, Conflict))
    assert won == Approved(count_id, 20, 0)
    assert f"has approved count {count_id} already: " in lost.what_changed


def test_the_same_approval_of_a_count_sent_twice_has_one_result(shelf: psycopg.Connection) -> None:
    count_id, command = draft(20), uuid4()

    results = at_the_same_time(
        *[
            lambda: services.approve_waiting_count(
                count_id=count_id, actor="max", command_id=command
            )
        ]
        * 2
    )

    assert results == [Approved(count_id, 20, 0)] * 2


def test_two_sheets_with_the_same_items_are_handed_in_without_a_deadlock(
    shelf: psycopg.Connection,
) -> None:
    sheets = {}
    for actor, skus in (("ann", ("S", "T")), ("bob", ("T", "S"))):
        sheets[actor] = services.open_sheet(location="L", actor=actor)
        rows = [entry(sku, 20) for sku in skus]
        services.add_entries(sheet_id=sheets[actor], entries=rows, actor=actor)

    at_the_same_time(
        lambda: services.submit_sheet(sheet_id=sheets["ann"], actor="ann"),
        lambda: services.submit_sheet(sheet_id=sheets["bob"], actor="bob"),
    )

    found = shelf.execute(
        "SELECT sku, status, count(*) FROM retail.stock_count WHERE sheet_id IS NOT NULL"
        " GROUP BY 1, 2 ORDER BY 1, 2"
    ).fetchall()
    assert found == [(sku, status, 1) for sku in ("S", "T") for status in ("draft", "void")]


def test_an_approval_and_a_simultaneous_second_count_are_serialized(
    shelf: psycopg.Connection,
) -> None:
    first = draft(20)
    sheet = services.open_sheet(location="L", actor="bob")
    services.add_entries(sheet_id=sheet, entries=[entry(units=19)], actor="bob")

    approved, submitted = at_the_same_time(
        lambda: services.approve_waiting_count(count_id=first, actor="max"),
        lambda: services.submit_sheet(sheet_id=sheet, actor="bob"),
    )

    second = count_row(shelf, submitted.count_ids[0])
    if isinstance(approved, Approved):
        assert second == (19, "cycle", "draft", "bob", None, None, None)
    else:
        assert isinstance(approved, Conflict)
        # The count before needed no second count, so this one is a first count, too.
        assert second == (19, "cycle", "draft", "bob", None, None, None)


def test_a_draft_count_older_than_48_hours_cannot_be_approved(ledger: psycopg.Connection) -> None:
    count_id = write(ledger, "stock_count", status="draft", counted_by="ann")

    with pytest.raises(Conflict, match="older than 48 h"):
        services.approve_waiting_count(count_id=count_id, actor="max")
