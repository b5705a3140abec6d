"""Order lines from draft to closed, and complete orders."""

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from itertools import product
from typing import Any, cast
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.ordering.status import ALLOWED, STATUSES
from ledger.services import Conflict, Delivered, ServiceError
from tests.ledger.concurrency import at_the_same_time

ORDERED = datetime(2026, 3, 2, 9, tzinfo=UTC)


def order(units: int = 10, actor: str | None = None, **changes: Any) -> int:
    given: dict[str, Any] = {
        "location": "L",
        "sku": "S",
        "supplier": "ACME",
        "order_ref": "X-1",
        "ordered_at": ORDERED,
    }
    return services.place_order_line(
        services.PlaceOrderLine(**given | {"ordered_units": units} | changes), actor=actor
    )


def line(ledger: psycopg.Connection, line_id: int) -> tuple[Any, ...] | None:
    return ledger.execute(
        "SELECT status, ordered_units, confirmed_units, cancelled_units"
        " FROM retail.purchase_order_line WHERE id = %s",
        [line_id],
    ).fetchone()


def version(ledger: psycopg.Connection, line_id: int) -> str:
    found = ledger.execute(
        "SELECT recorded_at FROM retail.purchase_order_line WHERE id = %s", [line_id]
    ).fetchone()
    assert found is not None
    return str(found[0].astimezone(UTC).isoformat())


def in_status(ledger: psycopg.Connection, status: str) -> int:
    """Return a line of ten units in this status. A closed line has all of them cancelled."""
    line_id = order(status="draft" if status == "draft" else "sent")
    if status == "confirmed":
        services.confirm_order_line(services.ConfirmOrderLine(line_id=line_id, confirmed_units=10))
    if status == "closed":
        services.cancel_order_units(line_id=line_id)
    return line_id


DO: dict[str, Callable[[int], object]] = {
    "change": lambda n: services.change_order_line(services.ChangeOrderLine(n, 12)),
    "delete": lambda n: services.delete_order_line(line_id=n),
    "confirm": lambda n: services.confirm_order_line(
        services.ConfirmOrderLine(line_id=n, confirmed_units=9)
    ),
    "ship": lambda n: services.ship_order_line(line_id=n, shipped_units=1),
    "receive": lambda n: services.receive_shipment(
        purchase_order_line_id=n, delivered=Delivered(1)
    ),
    "cancel": lambda n: services.cancel_order_units(line_id=n),
    "re_date": lambda n: services.move_due_date(line_id=n, due_on=date(2099, 3, 9)),
    "restore": lambda n: services.restore_order_units(line_id=n, units=4, reopening_allowed=True),
    "send": lambda _: services.send_order(order_ref="X-1"),
}


@pytest.mark.parametrize(("status", "action"), list(product(STATUSES, DO)))
def test_services_follow_the_table_of_statuses(
    ledger: psycopg.Connection, status: str, action: str
) -> None:
    line_id = in_status(ledger, status)
    before = line(ledger, line_id)

    if (status, action) in ALLOWED:
        DO[action](line_id)
        return
    with pytest.raises((Conflict, ServiceError)):
        DO[action](line_id)
    assert line(ledger, line_id) == before


@pytest.mark.domain("7 order line draft")
def test_a_draft_is_changed_in_whole_packs_unless_the_lead_does_it(
    ledger: psycopg.Connection,
) -> None:
    line_id = order(12, status="draft")
    ledger.execute("UPDATE retail.purchase_order_line SET pack_units = 6")
    with pytest.raises(ServiceError, match="multiple of the pack of 6"):
        services.change_order_line(services.ChangeOrderLine(line_id, 13))

    services.change_order_line(services.ChangeOrderLine(line_id, 18))
    services.change_order_line(services.ChangeOrderLine(line_id, 19, odd_units_allowed=True))

    assert line(ledger, line_id) == ("draft", 19, None, 0)


@pytest.mark.domain("7 order line draft")
def test_deleting_a_draft_line_twice_returns_the_same_result(
    ledger: psycopg.Connection,
) -> None:
    line_id = order(status="draft")
    command = uuid4()

    first = services.delete_order_line(line_id=line_id, command_id=command, actor="ann")
    second = services.delete_order_line(line_id=line_id, command_id=command, actor="ann")

    assert first == second == services.LineDeleted(line_id, 10)
    assert line(ledger, line_id) is None


@pytest.mark.domain("7 order line sent or confirmed")
def test_a_supplier_confirms_less_or_nothing(ledger: psycopg.Connection) -> None:
    short, none = order(), order(sku="T")

    services.confirm_order_line(
        services.ConfirmOrderLine(line_id=short, confirmed_units=8, due_on=date(2026, 3, 9))
    )
    services.confirm_order_line(services.ConfirmOrderLine(line_id=none, confirmed_units=0))

    assert line(ledger, short) == ("confirmed", 10, 8, 0)
    assert line(ledger, none) == ("closed", 10, 0, 0)
    assert ledger.execute(
        "SELECT due_on FROM retail.purchase_order_line WHERE id = %s", [short]
    ).fetchone() == (date(2026, 3, 9),)


def test_confirming_more_units_than_ordered_needs_explicit_permission(
    ledger: psycopg.Connection,
) -> None:
    line_id = order(24)
    for units in (25, 512):
        with pytest.raises(ServiceError, match="at most the 24 ordered") as refusal:
            services.confirm_order_line(
                services.ConfirmOrderLine(line_id=line_id, confirmed_units=units)
            )
        assert (refusal.value.field, refusal.value.value) == ("confirmed_units", units)
    assert line(ledger, line_id) == ("sent", 24, None, 0)

    services.confirm_order_line(services.ConfirmOrderLine(line_id=line_id, confirmed_units=24))
    assert line(ledger, line_id) == ("confirmed", 24, 24, 0)
    services.confirm_order_line(
        services.ConfirmOrderLine(line_id=line_id, confirmed_units=25, beyond_order_allowed=True)
    )
    assert line(ledger, line_id) == ("confirmed", 24, 25, 0)


def test_a_draft_is_due_today_or_later(ledger: psycopg.Connection) -> None:
    draft = order(status="draft")

    for past in (ORDERED.date(), today(ledger) - timedelta(days=1)):
        with pytest.raises(ServiceError, match="not before") as refusal:
            services.move_due_date(line_id=draft, due_on=past)
        assert (refusal.value.field, refusal.value.value) == ("due_on", past)

    services.move_due_date(line_id=draft, due_on=today(ledger))


def today(ledger: psycopg.Connection) -> date:
    found = ledger.execute("SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date").fetchone()
    assert found is not None
    return cast(date, found[0])


def test_a_supplier_confirms_no_less_than_has_arrived(ledger: psycopg.Connection) -> None:
    line_id = order()
    services.receive_shipment(purchase_order_line_id=line_id, delivered=Delivered(6))
    with pytest.raises(ServiceError, match="at least 6"):
        services.confirm_order_line(services.ConfirmOrderLine(line_id=line_id, confirmed_units=5))

    services.confirm_order_line(services.ConfirmOrderLine(line_id=line_id, confirmed_units=6))

    assert line(ledger, line_id) == ("closed", 10, 6, 0)


def test_the_due_day_is_not_before_the_order(ledger: psycopg.Connection) -> None:
    line_id = order()
    with pytest.raises(ServiceError, match="not before the day of the order, 2026-03-02"):
        services.move_due_date(line_id=line_id, due_on=date(2026, 3, 1))

    services.move_due_date(line_id=line_id, due_on=date(2026, 3, 2))


@pytest.mark.domain("7 order line closed short")
def test_only_the_lead_can_restore_the_cancelled_units_of_a_closed_line(
    ledger: psycopg.Connection,
) -> None:
    line_id = order()
    services.receive_shipment(purchase_order_line_id=line_id, delivered=Delivered(7))
    services.cancel_order_units(line_id=line_id)
    with pytest.raises(ServiceError, match="only the purchasing lead"):
        services.restore_order_units(line_id=line_id, units=1)
    with pytest.raises(ServiceError, match="at most 3"):
        services.restore_order_units(line_id=line_id, units=4, reopening_allowed=True)

    services.restore_order_units(line_id=line_id, units=3, reopening_allowed=True)

    assert line(ledger, line_id) == ("sent", 10, None, 0)


def test_second_of_two_simultaneous_confirmations_gets_the_new_line_values(
    ledger: psycopg.Connection,
) -> None:
    line_id = order()
    seen = version(ledger, line_id)

    outcomes = at_the_same_time(
        lambda: services.confirm_order_line(
            services.ConfirmOrderLine(line_id=line_id, confirmed_units=8, shown_version=seen),
            actor="ann",
        ),
        lambda: services.confirm_order_line(
            services.ConfirmOrderLine(line_id=line_id, confirmed_units=9, shown_version=seen),
            actor="bob",
        ),
    )

    [loser] = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    stands = line(ledger, line_id)
    assert stands is not None
    left = {8: "ann", 9: "bob"}[stands[2]]
    assert f"last written by {left} at" in loser.what_changed
    assert "now confirmed" in loser.what_changed


@pytest.mark.parametrize(
    ("terms", "rule"),
    [
        ({"minimum_order_minor": -1}, "whole number"),
        ({"minimum_order_minor": 100_000_000_001}, "whole number"),
        ({"order_days_mask": 0}, "whole number"),
        ({"order_days_mask": 128}, "whole number"),
        ({"lead_time_centidays": 100_001}, "whole number"),
        ({"address": "x" * 501}, "at most 500"),
    ],
)
def test_terms_of_a_supplier_have_limits(
    ledger: psycopg.Connection, terms: dict[str, Any], rule: str
) -> None:
    services.name_suppliers(names={"ACME": "Acme"})

    with pytest.raises(ServiceError, match=rule):
        services.set_supplier_terms(services.SetSupplierTerms(code="ACME", **terms))


def test_supplier_terms_at_their_limits_are_saved_and_logged(ledger: psycopg.Connection) -> None:
    services.name_suppliers(names={"ACME": "Acme"})
    terms: dict[str, Any] = {
        "minimum_order_minor": 100_000_000_000,
        "order_days_mask": 1,
        "lead_time_centidays": 100_000,
        "address": "x" * 500,
        "email": "orders@acme.example",
        "is_active": False,
    }

    moved = services.set_supplier_terms(
        services.SetSupplierTerms(code="ACME", **terms), actor="ann"
    )

    assert moved.keys() == terms.keys()
    assert (
        services.set_supplier_terms(services.SetSupplierTerms(code="ACME", **terms), actor="ann")
        == {}
    )
    with pytest.raises(ServiceError, match="no such supplier"):
        services.set_supplier_terms(services.SetSupplierTerms(code="NOBODY", is_active=True))
    logged = ledger.execute("SELECT count(*) FROM app.action_log WHERE actor = 'ann'").fetchone()
    assert logged == (1,)


def test_a_command_sent_twice_cancels_once(ledger: psycopg.Connection) -> None:
    line_id, command = order(), uuid4()

    cancelled = [services.cancel_order_units(line_id=line_id, command_id=command) for _ in range(2)]

    assert cancelled == [10, 10]


@pytest.mark.domain("7 order line sent or confirmed")
def test_a_moved_due_day_changes_no_quantity(ledger: psycopg.Connection) -> None:
    line_id = order()
    before = line(ledger, line_id)

    services.move_due_date(line_id=line_id, due_on=ORDERED.date() + timedelta(days=90))

    assert line(ledger, line_id) == before


def test_conflict_on_an_order_line_names_all_its_current_values(ledger: psycopg.Connection) -> None:
    line_id = order(due_on=date(2099, 1, 2))
    services.confirm_order_line(services.ConfirmOrderLine(line_id=line_id, confirmed_units=9))
    services.cancel_order_units(line_id=line_id, actor="ann")

    with pytest.raises(
        Conflict,
        match=r"last written by ann at 20.* UTC, now closed, 10 ordered, 9 confirmed, 9 cancelled,"
        " due 2099-01-02, 0 open",
    ):
        services.move_due_date(line_id=line_id, due_on=ORDERED.date(), shown_version="before")
