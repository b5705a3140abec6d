"""Approval of many needs, parts of needs, and units that don't fill a pack."""

from datetime import date, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.services import (
    ApproveReorder,
    Conflict,
    NotOrdered,
    Ordered,
    OrderedBefore,
    Part,
    ServiceError,
)
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import reorder_proposal, write
from tests.ledger.stocked import stocked

REORDER = "R:L|S:1-2"
PACK = 6


@pytest.fixture
def proposal(ledger: psycopg.Connection) -> str:
    services.range_item(
        location="L", sku="S", policy={"supplier": "ACME", "pack_units": PACK, "cost_minor": 250}
    )
    return reorder_proposal(ledger)


def needs(ledger: psycopg.Connection, number: int, **changes: object) -> list[str]:
    """Write `number` items at L, each with an open proposal. Return the reorder ids."""
    found = []
    for n in range(number):
        sku = f"S{n:03}"
        services.range_item(location="L", sku=sku, policy={"supplier": "ACME", "pack_units": PACK})
        row = {"reorder_id": f"R:L|{sku}:1-2", "inv_key": f"L|{sku}", "sku": sku, **changes}
        found.append(reorder_proposal(ledger, **row))
    return found


def lines(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT reorder_id, ordered_units, supplier, due_on, order_ref"
        " FROM retail.purchase_order_line ORDER BY id"
    ).fetchall()


@pytest.mark.domain("7 proposal open")
def test_odd_units_need_the_purchasing_lead(ledger: psycopg.Connection, proposal: str) -> None:
    odd = ApproveReorder(proposal, 1, 41)
    with pytest.raises(ServiceError, match=r"multiple of the pack of 6.*purchasing lead"):
        services.approve_reorder(odd)

    services.approve_reorder(odd, odd_units_allowed=True)

    assert lines(ledger)[0][1] == 41


@pytest.mark.parametrize("units", [0, -6, 1_000_002])
def test_an_order_has_one_to_a_million_units(
    ledger: psycopg.Connection, proposal: str, units: int
) -> None:
    with pytest.raises(ServiceError, match="whole number from 1 to 1,000,000"):
        services.approve_reorder(ApproveReorder(proposal, 1, units=units))

    services.approve_reorder(ApproveReorder(proposal, 1, units=999_996))

    assert lines(ledger)[0][1] == 999_996


def test_order_line_keeps_cost_and_pack_after_a_policy_change(
    ledger: psycopg.Connection, proposal: str
) -> None:
    services.approve_reorder(ApproveReorder(proposal, 1))
    services.set_policy(location="L", sku="S", changes={"cost_minor": 999, "pack_units": 12})

    kept = ledger.execute(
        "SELECT cost_minor, pack_units FROM retail.purchase_order_line"
    ).fetchone()
    assert kept == (250, 6)


@pytest.mark.domain("7 proposal open")
def test_only_the_first_line_of_a_split_need_has_its_reorder_id(
    ledger: psycopg.Connection, proposal: str
) -> None:
    services.name_suppliers(names={"OTHER": "Other"})
    parts = [Part(30), Part(12, "OTHER", date(2099, 12, 24))]

    done = services.approve_reorder(ApproveReorder(proposal, 1, parts=parts))

    first, second = lines(ledger)
    assert first[:4] == (REORDER, 30, "ACME", None)
    assert second[:4] == (None, 12, "OTHER", date(2099, 12, 24))
    assert first[4] != second[4]
    assert (done.units, len(done.line_ids)) == (42, 2)
    assert ledger.execute("SELECT decided_units FROM app.reorder_proposal").fetchone() == (42,)


@pytest.mark.parametrize(
    ("parts", "rule"),
    [
        ([], "at least one order line"),
        ([Part(30), Part(6)], "add up to 42"),
        ([Part(30), Part(18)], "add up to 42"),
        ([Part(37), Part(5)], "multiple of the pack"),
        ([Part(42), Part(0)], "whole number from 1"),
        ([Part(42, "NOBODY")], "no such supplier"),
        ([Part(6)] * 5 + [Part(1)] * 6 + [Part(6)], "at most 10 order lines"),
    ],
)
def test_invalid_parts_of_a_split_need_are_refused(
    ledger: psycopg.Connection, proposal: str, parts: list[Part], rule: str
) -> None:
    with pytest.raises(ServiceError, match=rule):
        services.approve_reorder(ApproveReorder(proposal, 1, parts=parts))

    assert lines(ledger) == []


def test_a_part_is_due_today_or_later(ledger: psycopg.Connection, proposal: str) -> None:
    found = ledger.execute("SELECT (now() AT TIME ZONE 'UTC')::date").fetchone()
    assert found is not None
    today = found[0]

    for past in (date(1999, 1, 1), today - timedelta(days=1)):
        parts = [Part(30), Part(12, None, past)]
        with pytest.raises(ServiceError, match="not before") as refusal:
            services.approve_reorder(ApproveReorder(proposal, 1, parts=parts))
        assert (refusal.value.field, refusal.value.value) == ("due_on", past)
        with pytest.raises(ServiceError, match="not before"):
            services.approve_reorder(ApproveReorder(proposal, 1, 42, [Part(42, None, past)]))
    assert lines(ledger) == []

    parts = [Part(30, None, today), Part(12)]
    services.approve_reorder(ApproveReorder(proposal, 1, parts=parts))
    assert [line[3] for line in lines(ledger)] == [today, None]


def test_split_need_accepts_ten_parts_and_another_total(
    ledger: psycopg.Connection, proposal: str
) -> None:
    services.approve_reorder(
        services.ApproveReorder(
            reorder_id=proposal, shown_revision=1, parts=[Part(6)] * 10, units=60
        )
    )

    assert len(lines(ledger)) == 10
    assert len({line[4] for line in lines(ledger)}) == 1


def test_approval_is_refused_if_the_supplier_is_inactive(
    ledger: psycopg.Connection, proposal: str
) -> None:
    services.name_suppliers(names={"ACME": "Acme", "OTHER": "Other"})
    services.set_supplier_terms(services.SetSupplierTerms(code="ACME", is_active=False))
    with pytest.raises(ServiceError, match="this supplier is not active"):
        services.approve_reorder(ApproveReorder(proposal, 1))

    services.approve_reorder(ApproveReorder(proposal, 1, 42, [Part(42, "OTHER")]))

    assert lines(ledger)[0][2] == "OTHER"


def test_needs_of_one_supplier_and_location_share_an_order_until_it_is_sent(
    ledger: psycopg.Connection,
) -> None:
    first, second, third = needs(ledger, 3)
    approve = services.approve_reorder

    refs = [approve(ApproveReorder(need, 1)).order_ref for need in (first, second)]
    services.send_order(order_ref=refs[0])
    refs.append(approve(ApproveReorder(third, 1)).order_ref)

    assert refs[0] == refs[1] != refs[2]


def test_two_approvals_at_once_open_one_order(ledger: psycopg.Connection) -> None:
    found = at_the_same_time(
        *(
            lambda need=need: services.approve_reorder(ApproveReorder(need, 1))
            for need in needs(ledger, 4)
        )
    )

    assert len({done.order_ref for done in found}) == 1
    assert ledger.execute("SELECT count(*) FROM app.purchase_order").fetchone() == (1,)


def test_second_of_two_simultaneous_approvals_gets_a_conflict_with_the_order(
    ledger: psycopg.Connection, proposal: str
) -> None:
    outcomes = at_the_same_time(
        *(
            lambda units=units, actor=actor: services.approve_reorder(
                ApproveReorder(proposal, 1, units=units),
                actor=actor,
            )
            for actor, units in (("ann", 42), ("bob", 48))
        )
    )

    [loser] = [outcome for outcome in outcomes if isinstance(outcome, Conflict)]
    [winner] = [outcome for outcome in outcomes if isinstance(outcome, Ordered)]
    who = {42: "ann", 48: "bob"}[winner.units]
    assert loser.what_changed.startswith(f"{who} has already ordered {winner.units} units as PO-")
    assert len(lines(ledger)) == 1


def test_batch_approval_orders_valid_needs_and_returns_reasons_for_the_rest(
    ledger: psycopg.Connection,
) -> None:
    good, moved, closed = needs(ledger, 3)
    ledger.execute("UPDATE app.reorder_proposal SET revision = 3 WHERE reorder_id = %s", [moved])
    ledger.execute(
        "UPDATE app.reorder_proposal SET status = 'cancelled' WHERE reorder_id = %s", [closed]
    )
    batch = [ApproveReorder(need, 1) for need in (good, moved, closed, "R:none", good)]

    done = services.approve_reorders(batch, actor="ann")

    assert [type(row) for row in done] == [Ordered, *[NotOrdered] * 4]
    reasons = [outcome.reason for outcome in done if isinstance(outcome, NotOrdered)]
    assert "It now has revision 3" in reasons[0]
    assert "is cancelled now" in reasons[1]
    assert "no such proposal" in reasons[2]
    assert "at most once" in reasons[3]
    assert [line[0] for line in lines(ledger)] == [good]
    assert ledger.execute(
        "SELECT action, actor FROM app.action_log WHERE action IN ('approve', 'order') ORDER BY id"
    ).fetchall() == [("approve", "ann"), ("order", "ann")]


def test_the_same_batch_twice_orders_once(ledger: psycopg.Connection) -> None:
    batch = [ApproveReorder(need, 1) for need in needs(ledger, 3)]
    command = uuid4()

    first = services.approve_reorders(batch, command_id=command)
    second = services.approve_reorders(batch, command_id=command)
    third = services.approve_reorders(batch, command_id=uuid4())

    assert first == second
    assert [type(row) for row in third] == [OrderedBefore] * 3
    assert len(lines(ledger)) == 3


def test_batches_that_share_needs_do_not_block_each_other(ledger: psycopg.Connection) -> None:
    found = needs(ledger, 20)

    outcomes = at_the_same_time(
        lambda: services.approve_reorders([ApproveReorder(need, 1) for need in found]),
        lambda: services.approve_reorders([ApproveReorder(need, 1) for need in found[::-1]]),
    )

    assert all(isinstance(outcome, list) for outcome in outcomes), outcomes
    assert len(lines(ledger)) == 20
    kinds = [type(row) for outcome in outcomes for row in outcome]
    assert (kinds.count(Ordered), kinds.count(OrderedBefore), len(kinds)) == (20, 20, 40)


@pytest.mark.parametrize("number", [0, 501])
def test_a_batch_has_one_to_five_hundred_needs(ledger: psycopg.Connection, number: int) -> None:
    with pytest.raises(ServiceError, match="1 to 500 proposals"):
        services.approve_reorders([ApproveReorder(f"R:{n}", 1) for n in range(number)])


def test_a_batch_of_five_hundred_is_taken(ledger: psycopg.Connection) -> None:
    done = services.approve_reorders([ApproveReorder(f"R:{n}", 1) for n in range(500)])

    assert len(done) == 500


def test_need_with_an_order_line_is_not_ordered_again(
    ledger: psycopg.Connection, proposal: str
) -> None:
    write(ledger, "purchase_order_line", reorder_id=proposal)

    with pytest.raises(Conflict, match="orders this need already"):
        services.approve_reorder(ApproveReorder(proposal, 1))


def answering(need: str, actor: str | None = None, **changes: Any) -> int:
    given: dict[str, Any] = {"location": "L", "sku": "S", "supplier": "ACME", "order_ref": "X"}
    return services.place_order_line(
        services.PlaceOrderLine(**given | {"ordered_units": 6, "reorder_id": need} | changes),
        actor=actor,
    )


def test_order_line_placed_for_a_need_counts_as_its_order(
    ledger: psycopg.Connection, proposal: str
) -> None:
    line_id = answering(proposal, actor="ann")

    done = services.approve_reorder(ApproveReorder(proposal, 1))
    assert done == OrderedBefore(proposal, (line_id,), 6, "X")
    with pytest.raises(Conflict, match="ann has already ordered 6"):
        services.approve_reorder(ApproveReorder(proposal, 1, units=42))


@pytest.mark.parametrize("status", ["accepted", "rejected", "cancelled", "superseded", "snoozed"])
def test_no_line_is_placed_for_a_need_that_is_not_open(
    ledger: psycopg.Connection, proposal: str, status: str
) -> None:
    ledger.execute("UPDATE app.reorder_proposal SET status = %s", [status])

    with pytest.raises(Conflict, match=f"is {status} now"):
        answering(proposal)

    assert ledger.execute("SELECT FROM retail.purchase_order_line").fetchall() == []


@pytest.mark.parametrize(
    ("changes", "rule"),
    [({"reorder_id": "R:none"}, "no such proposal"), ({"sku": "T"}, "a need of L for T")],
)
def test_order_line_for_a_missing_need_or_another_item_is_refused(
    ledger: psycopg.Connection, proposal: str, changes: dict[str, str], rule: str
) -> None:
    with pytest.raises(ServiceError, match=rule):
        answering(proposal, **changes)


def test_simultaneous_line_approval_and_transfer_cover_a_need_once(
    ledger: psycopg.Connection, proposal: str
) -> None:
    stocked("DC")

    outcomes = at_the_same_time(
        lambda: answering(proposal),
        lambda: services.approve_reorder(ApproveReorder(proposal, 1, units=42)),
        lambda: services.plan_transfer(
            route=services.Route("DC", "L", "S", 12), reorder_id=proposal
        ),
    )

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 2
    answers = ledger.execute(
        "SELECT reorder_id FROM retail.purchase_order_line"
        " UNION ALL SELECT reorder_id FROM retail.shipment_line WHERE leg = 'transfer_in'"
    ).fetchall()
    assert answers == [(proposal,)]


def test_lines_approved_while_an_order_is_sent_join_it_or_the_next_one(
    ledger: psycopg.Connection,
) -> None:
    first, *others = needs(ledger, 7)
    ref = services.approve_reorder(ApproveReorder(first, 1)).order_ref

    at_the_same_time(
        *(lambda need=need: services.approve_reorder(ApproveReorder(need, 1)) for need in others),
        lambda: services.send_order(order_ref=ref),
    )

    found = ledger.execute(
        "SELECT order_ref, array_agg(DISTINCT status), sum(1)::int FROM retail.purchase_order_line"
        " GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert all(len(statuses) == 1 for _, statuses, _ in found), found
    assert sum(number for _, _, number in found) == 7
    assert found[0][:2] == (ref, ["sent"])


def test_need_approved_with_one_part_takes_the_due_day_of_the_part(
    ledger: psycopg.Connection, proposal: str
) -> None:
    later = Part(42, None, date(2099, 1, 2))

    services.approve_reorder(ApproveReorder(proposal, 1, 42, [later]))

    assert lines(ledger)[0][3] == date(2099, 1, 2)


def test_an_item_that_is_not_ranged_is_not_ordered(ledger: psycopg.Connection) -> None:
    need = reorder_proposal(ledger)

    with pytest.raises(ServiceError, match="not ranged at this location"):
        services.approve_reorder(ApproveReorder(need, 1))


def test_batch_approval_names_field_rule_and_value_of_a_refused_need(
    ledger: psycopg.Connection,
) -> None:
    [need] = needs(ledger, 1)

    [done] = services.approve_reorders([ApproveReorder(need, 1, 41)])

    assert isinstance(done, NotOrdered)
    assert done.reason.startswith("Units: a multiple of the pack of 6")
    assert done.reason.endswith("; got 41.")
