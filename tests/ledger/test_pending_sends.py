"""Sends wait for ten seconds. Pages announce them, undo them, and report the result of each row."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.access.scope import OutOfScope, Scope, within
from ledger.automation import sends
from ledger.ordering.orders import version_of_drafts
from ledger.services import Announced, ApproveReorder, Conflict, DraftOrder, ServiceError
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import reorder_proposal

MINE = Scope(everywhere=False, stores=frozenset({"L"}))


@pytest.fixture(autouse=True)
def bea(ledger: psycopg.Connection) -> None:
    """Add Bea, a buyer of all stores."""
    become("buyer")


def become(role: str, *stores: str) -> None:
    """Give Bea only this role, in `stores` or everywhere."""
    people = import_module("ledger.people")  # here, because it needs Django set up
    user, _ = people.User.objects.get_or_create(username="bea")
    user.groups.set([people.create_roles()[role]])
    people.write_memberships(user, everywhere=not stores, stores=stores)


def needs(ledger: psycopg.Connection, number: int, *, location: str = "L") -> list[str]:
    """Write open needs of 42 units at a cost of 4.00 for supplier ACME. Return their ids."""
    found = []
    for n in range(number):
        sku = f"S{n:03}"
        policy = {"supplier": "ACME", "pack_units": 6, "cost_minor": 400}
        services.range_item(location=location, sku=sku, policy=policy)
        names = {"inv_key": f"{location}|{sku}", "sku": sku, "location": location}
        need_id = f"R:{location}|{sku}:1-2"
        found.append(reorder_proposal(ledger, reorder_id=need_id, cost_minor=400, **names))
    return found


def announce(ids: Sequence[str], **options: Any) -> Announced:
    wanted = [ApproveReorder(reorder_id, 1) for reorder_id in ids]
    return services.send_needs(wanted, actor="bea", **options)


def id_of(announced: Announced) -> int:
    assert announced.send_id is not None
    return announced.send_id


def let_time_pass(ledger: psycopg.Connection, seconds: int = 11) -> None:
    """Make the deadlines of all sends earlier by `seconds`."""
    ledger.execute(
        "UPDATE app.pending_send SET due_at = due_at - make_interval(secs => %s)", [seconds]
    )


def lines(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT reorder_id, ordered_units, status, order_ref, recorded_by"
        " FROM retail.purchase_order_line ORDER BY id"
    ).fetchall()


def outcomes(ledger: psycopg.Connection, send_id: int) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT subject, order_ref, refused FROM app.pending_item WHERE send_id = %s"
        " ORDER BY place",
        [send_id],
    ).fetchall()


def status(ledger: psycopg.Connection, send_id: int) -> str:
    sql = "SELECT status FROM app.pending_send WHERE id = %s"
    found = ledger.execute(sql, [send_id]).fetchone()
    assert found is not None
    return str(found[0])


def test_nothing_is_written_before_the_deadline(ledger: psycopg.Connection) -> None:
    ids = needs(ledger, 3)

    send_id = id_of(announce(ids))

    assert sends.send_due() == 0
    assert status(ledger, send_id) == "waiting"
    assert lines(ledger) == []
    decided = "SELECT count(*) FROM app.reorder_proposal WHERE decided_action IS NOT NULL"
    assert ledger.execute(decided).fetchone() == (0,)


def test_pending_needs_become_one_sent_order_after_the_deadline(ledger: psycopg.Connection) -> None:
    ids = needs(ledger, 3)
    send_id = id_of(announce(ids))
    let_time_pass(ledger)

    assert sends.send_due() == 1

    [ref] = {line[3] for line in lines(ledger)}
    assert lines(ledger) == [(need, 42, "sent", ref, "bea") for need in ids]
    assert outcomes(ledger, send_id) == [(need, ref, None) for need in ids]
    assert status(ledger, send_id) == "sent"
    [(sent_by, is_sent, automatic)] = ledger.execute(
        "SELECT sent_by, sent_at IS NOT NULL, is_automatic FROM app.purchase_order"
    ).fetchall()
    assert (sent_by, is_sent, automatic) == ("bea", True, False)
    logged = "SELECT actor, detail ->> 'units' FROM app.action_log WHERE action = 'send_order'"
    assert ledger.execute(logged).fetchall() == [("bea", "126")]


@pytest.mark.parametrize(
    ("role", "stores", "left"),
    [("analyst", (), set()), ("lead", (), {"L", "M"}), ("buyer", "M", {"M"})],
)
def test_pending_send_is_refused_for_stores_whose_access_was_lost(
    ledger: psycopg.Connection, role: str, stores: str, left: set[str]
) -> None:
    ids = needs(ledger, 1) + needs(ledger, 1, location="M")
    send_id = id_of(announce(ids))
    become(role, *stores)
    let_time_pass(ledger)

    assert sends.send_due() == 1

    assert {line[0] for line in lines(ledger)} == {f"R:{store}|S000:1-2" for store in left}
    refused = {subject: text for subject, _, text in outcomes(ledger, send_id) if text}
    assert refused == {
        f"R:{store}|S000:1-2": f"bea may not send orders for {store} any more, so nothing was sent"
        for store in {"L", "M"} - left
    }
    assert status(ledger, send_id) == "sent"


def test_simultaneous_send_due_calls_send_each_need_once(
    ledger: psycopg.Connection,
) -> None:
    announce(needs(ledger, 3))
    let_time_pass(ledger)

    ended = at_the_same_time(sends.send_due, sends.send_due)

    assert sorted(ended) == [0, 1]
    assert sends.send_due() == 0
    assert len(lines(ledger)) == 3


def test_a_crash_in_the_middle_leaves_the_send_waiting(
    ledger: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    send_id = id_of(announce(needs(ledger, 2)))
    let_time_pass(ledger)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(sends, "end_send", crash)
        with pytest.raises(KeyboardInterrupt):
            sends.send_due()

    assert (status(ledger, send_id), lines(ledger)) == ("waiting", [])
    assert sends.send_due() == 1
    assert len(lines(ledger)) == 2


def test_a_double_click_is_one_send(ledger: psycopg.Connection) -> None:
    ids, command_id = needs(ledger, 2), uuid4()

    first = announce(ids, command_id=command_id)
    again = announce(ids, command_id=command_id)

    assert first == again
    assert ledger.execute("SELECT count(*) FROM app.pending_send").fetchone() == (1,)


def test_an_undone_send_releases_its_needs(ledger: psycopg.Connection) -> None:
    ids = needs(ledger, 2)
    send_id = id_of(announce(ids))

    assert services.cancel_send(send_id=send_id, actor="bea").items == 2

    let_time_pass(ledger)
    assert sends.send_due() == 0
    assert (status(ledger, send_id), lines(ledger)) == ("cancelled", [])
    assert id_of(announce(ids)) != send_id


def test_an_undo_after_the_deadline_works_until_the_automation_has_sent(
    ledger: psycopg.Connection,
) -> None:
    send_id = id_of(announce(needs(ledger, 1)))
    let_time_pass(ledger)
    services.cancel_send(send_id=send_id, actor="bea")
    assert sends.send_due() == 0

    other = id_of(announce(["R:L|S000:1-2"]))
    let_time_pass(ledger)
    assert sends.send_due() == 1
    with pytest.raises(Conflict, match="It is too late to undo: the orders were sent"):
        services.cancel_send(send_id=other, actor="bea")


def test_simultaneous_undo_and_execution_cancel_or_send(ledger: psycopg.Connection) -> None:
    send_id = id_of(announce(needs(ledger, 2)))
    let_time_pass(ledger)

    def undo() -> int:
        try:
            return services.cancel_send(send_id=send_id, actor="bea").items
        except Conflict:
            return 0

    undone, sent = at_the_same_time(undo, sends.send_due)

    ended = status(ledger, send_id)
    assert (undone, sent, ended, len(lines(ledger))) in {
        (2, 0, "cancelled", 0),
        (0, 1, "sent", 2),
    }


def test_a_need_is_part_of_one_send_only(ledger: psycopg.Connection) -> None:
    first, second = needs(ledger, 2)
    announce([first])

    other = services.send_needs([ApproveReorder(first, 1), ApproveReorder(second, 1)], actor="carl")

    assert other.items == 1
    [refused] = other.refused
    assert refused.reorder_id == first
    assert refused.reason == "bea is already sending this need or order"


def test_one_need_that_is_refused_stops_no_other(ledger: psycopg.Connection) -> None:
    stale, fine, odd = needs(ledger, 3)
    ledger.execute("UPDATE app.reorder_proposal SET revision = 2 WHERE reorder_id = %s", [stale])

    announced = services.send_needs(
        [ApproveReorder(stale, 1), ApproveReorder(fine, 1, 48), ApproveReorder(odd, 1, 41)]
    )
    let_time_pass(ledger)
    sends.send_due()

    assert [one.reorder_id for one in announced.refused] == [stale, odd]
    assert "It now has revision 2" in announced.refused[0].reason
    assert "multiple of the pack" in announced.refused[1].reason
    assert [line[:3] for line in lines(ledger)] == [(fine, 48, "sent")]


def test_need_changed_before_the_deadline_is_reported_and_the_others_are_sent(
    ledger: psycopg.Connection,
) -> None:
    stale, taken, fine = needs(ledger, 3)
    send_id = id_of(announce([stale, taken, fine]))
    ledger.execute("UPDATE app.reorder_proposal SET revision = 2 WHERE reorder_id = %s", [stale])
    services.approve_reorder(ApproveReorder(taken, 1), actor="ann")
    let_time_pass(ledger)

    sends.send_due()

    reasons = {subject: refused for subject, _ref, refused in outcomes(ledger, send_id)}
    assert "It now has revision 2" in reasons[stale]
    assert reasons[taken].startswith("ann has already ordered 42 units as PO-")
    assert reasons[fine] is None
    assert [line[0] for line in lines(ledger) if line[2] == "sent"] == [fine]


def test_send_below_the_minimum_needs_explicit_permission(ledger: psycopg.Connection) -> None:
    services.name_suppliers(names={"ACME": "Acme"})
    services.set_supplier_terms(
        services.SetSupplierTerms("ACME", minimum_order_minor=20_000), actor="lea"
    )
    first, second = needs(ledger, 2)

    alone = announce([first])
    assert (alone.send_id, alone.items) == (None, 0)
    assert "The minimum of Acme is €200.00. Pick more" in alone.refused[0].reason
    ticked = announce([first], below_minimum_allowed=True)
    services.cancel_send(send_id=id_of(ticked))
    together_ = announce([first, second])

    assert together_.items == 2


def test_send_leaves_draft_lines_of_other_people_unsent(
    ledger: psycopg.Connection,
) -> None:
    collected, picked = needs(ledger, 2)
    services.approve_reorder(ApproveReorder(collected, 1), actor="ann")

    announce([picked])
    let_time_pass(ledger)
    sends.send_due()

    assert [line[:3] for line in lines(ledger)] == [
        (collected, 42, "draft"),
        (picked, 42, "sent"),
    ]


def test_send_that_was_not_executed_for_15_minutes_lapses(
    ledger: psycopg.Connection,
) -> None:
    [need] = needs(ledger, 1)
    send_id = id_of(announce([need]))
    let_time_pass(ledger, 15 * 60 + 11)

    assert sends.send_due() == 1

    assert (status(ledger, send_id), lines(ledger)) == ("lapsed", [])
    assert outcomes(ledger, send_id)[0][2] == sends.TOO_LATE
    assert id_of(announce([need])) != send_id


def drafted(ledger: psycopg.Connection, ids: Sequence[str]) -> list[DraftOrder]:
    """Approve the needs. Return their draft orders as a page shows them."""
    services.approve_reorders([ApproveReorder(need, 1) for need in ids], actor="ann")
    refs = sorted({line[3] for line in lines(ledger)})
    found = []
    for ref in refs:
        sql = "SELECT recorded_at FROM retail.purchase_order_line WHERE order_ref = %s"
        times = [at for (at,) in ledger.execute(sql, [ref])]
        found.append(DraftOrder(ref, version_of_drafts(times)))
    return found


def test_draft_order_changed_before_the_deadline_is_reported_and_not_sent(
    ledger: psycopg.Connection,
) -> None:
    ids = needs(ledger, 1) + needs(ledger, 1, location="M")
    first, second = drafted(ledger, ids)
    send_id = id_of(services.send_orders([first, second], actor="bea"))
    ledger.execute(
        "UPDATE retail.purchase_order_line SET recorded_at = clock_timestamp(), ordered_units = 48"
        " WHERE order_ref = %s",
        [second.order_ref],
    )
    let_time_pass(ledger)

    assert sends.send_due() == 1

    assert [line[2] for line in lines(ledger)] == ["sent", "draft"]
    by_ref = {subject: (ref, why) for subject, ref, why in outcomes(ledger, send_id)}
    assert by_ref[first.order_ref] == (first.order_ref, None)
    assert "has changed since it was shown" in by_ref[second.order_ref][1]


def test_orders_that_cannot_be_sent_are_refused_at_once(ledger: psycopg.Connection) -> None:
    [draft] = drafted(ledger, needs(ledger, 1))

    announced = services.send_orders([draft, DraftOrder("PO-NONE", "0@")], actor="bea")

    assert announced.items == 1
    assert [one.reorder_id for one in announced.refused] == ["PO-NONE"]


@pytest.mark.parametrize("number", [0, 201])
def test_a_send_has_one_to_200_orders(ledger: psycopg.Connection, number: int) -> None:
    with pytest.raises(ServiceError, match="1 to 200 orders at once"):
        services.send_orders([DraftOrder(f"PO-{n}", "0@") for n in range(number)])


def test_people_of_other_stores_neither_send_nor_undo(ledger: psycopg.Connection) -> None:
    ids = needs(ledger, 1, location="M")
    drafts = drafted(ledger, needs(ledger, 1, location="M2"))
    send_id = id_of(announce(ids))

    with within(MINE):
        assert "no such proposal" in announce(ids).refused[0].reason
        assert services.send_orders(drafts).items == 0
        with pytest.raises(OutOfScope):
            services.cancel_send(send_id=send_id)
        with pytest.raises(OutOfScope):
            services.acknowledge_send(send_id=send_id)


def test_only_its_sender_can_acknowledge_an_ended_send(ledger: psycopg.Connection) -> None:
    send_id = id_of(announce(needs(ledger, 1)))
    with pytest.raises(Conflict, match="still waiting"):
        services.acknowledge_send(send_id=send_id, actor="bea")
    let_time_pass(ledger)
    sends.send_due()

    with pytest.raises(ServiceError, match="no such send"):
        services.acknowledge_send(send_id=send_id, actor="bob")
    services.acknowledge_send(send_id=send_id, actor="bea")

    sql = "SELECT seen_at IS NOT NULL FROM app.pending_send WHERE id = %s"
    assert ledger.execute(sql, [send_id]).fetchone() == (True,)
    with pytest.raises(ServiceError, match="no such send"):
        services.acknowledge_send(send_id=0)
