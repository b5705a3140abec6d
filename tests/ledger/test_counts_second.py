"""Counts that need a second count, and drafts whose approval by another person is refused."""

from datetime import timedelta

import psycopg
import pytest

from ledger import services
from ledger.services import Approved, Conflict
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import write
from tests.ledger.test_counts import count_row, draft, now, shelf

__all__ = ["shelf"]


def test_refusing_a_count_that_was_approved_meanwhile_voids_nothing(
    shelf: psycopg.Connection,
) -> None:
    count_id = draft(20)
    services.approve_waiting_count(count_id=count_id, actor="max")

    with pytest.raises(Conflict, match=f"max has approved count {count_id} already: .*, 20"):
        services.refuse_waiting_count(count_id=count_id, actor="moe", reason="wet")

    assert count_row(shelf, count_id) == (20, "cycle", "approved", "ann", "max", 20, None)


def test_the_first_of_a_simultaneous_approval_and_refusal_of_a_count_wins(
    shelf: psycopg.Connection,
) -> None:
    count_id = draft(20)

    approved, refused = at_the_same_time(
        lambda: services.approve_waiting_count(count_id=count_id, actor="max"),
        lambda: services.refuse_waiting_count(count_id=count_id, actor="moe", reason="wet"),
    )

    row = count_row(shelf, count_id)
    assert row is not None
    if isinstance(approved, Approved):
        assert (row[2], type(refused)) == ("approved", Conflict)
    else:
        assert (row[2], refused) == ("void", None)


def test_a_draft_older_than_48_hours_is_not_accepted_as_first_count(
    shelf: psycopg.Connection,
) -> None:
    write(
        shelf,
        "stock_count",
        units=9,
        status="draft",
        counted_by="ann",
        occurred_at=now(shelf) - timedelta(days=21),
    )

    count_id = draft(1000)

    with pytest.raises(Conflict, match="second blind count"):
        services.approve_waiting_count(count_id=count_id, actor="max")


def test_a_count_over_the_tolerance_after_a_draft_within_it_needs_a_second_count(
    shelf: psycopg.Connection,
) -> None:
    draft(19)

    count_id = draft(1000, actor="bob")

    with pytest.raises(Conflict, match="second blind count"):
        services.approve_waiting_count(count_id=count_id, actor="max")


def test_a_draft_from_before_the_stock_was_known_is_not_accepted_as_first_count(
    shelf: psycopg.Connection,
) -> None:
    draft(50, sku="T")

    count_id = draft(1000, sku="T", actor="bob")

    write(shelf, "stock_count", sku="T", units=50, occurred_at=now(shelf) - timedelta(hours=1))
    with pytest.raises(Conflict, match="second blind count"):
        services.approve_waiting_count(count_id=count_id, actor="max")
