"""Statuses of order lines: all pairs of status and action, and the due day."""

from datetime import UTC, date, datetime
from itertools import product

import pytest

from ledger.kernel.errors import Conflict
from ledger.ordering.status import (
    ACTIONS,
    ALLOWED,
    STATUSES,
    after,
    due_day,
    is_overdue,
    open_units,
    order_day,
    status_after,
)

# The allowed actions of each status, repeated here from docs/domain.md 7.
MAY = {
    "draft": {"change", "delete", "send", "re_date"},
    "sent": {"confirm", "ship", "receive", "cancel", "re_date"},
    "confirmed": {"confirm", "ship", "receive", "cancel", "re_date"},
    "closed": {"receive", "restore"},
}
MONDAY, SUNDAY = 1, 64
MONDAY_NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(("status", "action"), list(product(STATUSES, ACTIONS)))
def test_every_pair_of_status_and_action_is_allowed_or_a_conflict(status, action) -> None:
    if action in MAY[status]:
        assert after(status, action, line_id=7) == ALLOWED[status, action]
        return
    with pytest.raises(Conflict, match=r"order line 7 can't be .*: it (is|was)"):
        after(status, action, line_id=7)


@pytest.mark.parametrize(
    ("status", "units", "is_confirmed", "expected"),
    [
        ("draft", 0, False, "draft"),
        ("draft", 5, False, "draft"),
        ("sent", 1, False, "sent"),
        ("sent", 0, False, "closed"),
        ("sent", 1, True, "confirmed"),
        ("confirmed", 1, True, "confirmed"),
        ("confirmed", 1, False, "confirmed"),
        ("confirmed", 0, True, "closed"),
        ("closed", 0, True, "closed"),
        ("closed", 1, True, "confirmed"),
        ("closed", 1, False, "sent"),
    ],
)
def test_order_line_is_closed_exactly_while_it_has_no_open_units(
    status, units, is_confirmed, expected
) -> None:
    assert status_after(status, open_units=units, is_confirmed=is_confirmed) == expected


@pytest.mark.parametrize(
    ("ordered", "confirmed", "cancelled", "received", "expected"),
    [(10, None, 0, 0, 10), (10, 8, 0, 0, 8), (10, 8, 3, 5, 0), (10, 12, 0, 5, 7), (10, 4, 0, 9, 0)],
)
def test_open_units_are_promised_less_cancelled_less_received(
    ordered, confirmed, cancelled, received, expected
) -> None:
    assert expected == open_units(
        ordered=ordered, confirmed=confirmed, cancelled=cancelled, received_for_order=received
    )


@pytest.mark.parametrize(
    ("mask", "expected"),
    [(127, date(2026, 3, 2)), (MONDAY, date(2026, 3, 2)), (SUNDAY, date(2026, 3, 8))],
)
def test_an_order_goes_out_on_the_suppliers_next_order_day(mask, expected) -> None:
    assert order_day(date(2026, 3, 2), mask) == expected


@pytest.mark.parametrize(
    ("lead", "mask", "expected"),
    [
        (0, 127, None),
        (49, 127, date(2026, 3, 2)),  # 11 h 46 min after noon is the same day
        (50, 127, date(2026, 3, 3)),  # 12 h after noon is the next day
        (600, 127, date(2026, 3, 8)),
        (100, SUNDAY, date(2026, 3, 9)),  # the day counts from the start of Sunday
    ],
)
def test_goods_are_due_a_lead_time_after_the_order(lead, mask, expected) -> None:
    assert due_day(MONDAY_NOON, lead_time_centidays=lead, order_days_mask=mask) == expected


def test_a_line_is_overdue_once_its_due_day_is_over_and_units_are_open() -> None:
    due = date(2026, 3, 5)

    assert not is_overdue(due, today=date(2026, 3, 5), units=1)
    assert is_overdue(due, today=date(2026, 3, 6), units=1)
    assert not is_overdue(due, today=date(2026, 3, 6), units=0)
    assert not is_overdue(None, today=date(2026, 3, 6), units=1)
    assert not is_overdue(date.max, today=date(2026, 3, 6), units=1)
