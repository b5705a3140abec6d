from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from ledger import services
from ledger.services import Conflict, Ordered, OrderedBefore, ServiceError
from tests.ledger.concurrency import at_the_same_time
from tests.ledger.rows import reorder_proposal

REORDER = "R:L|S:1-2"


@pytest.fixture
def proposal(ledger: psycopg.Connection) -> str:
    services.range_item(location="L", sku="S", policy={"supplier": "ACME", "pack_units": 6})
    return reorder_proposal(ledger)


def lines(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT reorder_id, ordered_units, supplier, status, recorded_by"
        " FROM retail.purchase_order_line"
    ).fetchall()


def words(ledger: psycopg.Connection) -> list[tuple[Any, ...]]:
    return ledger.execute(
        "SELECT action, need_revision, reason, recorded_by FROM retail.reorder_decision ORDER BY id"
    ).fetchall()


@pytest.mark.domain("7 proposal open")
def test_approving_a_proposal_writes_the_decision_and_the_order_line(
    ledger: psycopg.Connection, proposal: str
) -> None:
    done = services.approve_reorder(
        services.ApproveReorder(reorder_id=proposal, shown_revision=1), actor="buyer"
    )

    assert lines(ledger) == [(REORDER, 42, "ACME", "draft", "buyer")]
    assert words(ledger) == [("approve", 1, None, "buyer")]
    assert isinstance(done, Ordered)
    assert done.units == 42
    assert ledger.execute(
        "SELECT decided_action, decided_by, decided_units, status FROM app.reorder_proposal"
    ).fetchone() == ("approve", "buyer", 42, "open")


def test_the_same_command_twice_orders_once(ledger: psycopg.Connection, proposal: str) -> None:
    command = uuid4()
    approval = services.ApproveReorder(proposal, 1)
    given: dict[str, Any] = {"actor": "buyer", "command_id": command}

    first = services.approve_reorder(approval, **given)
    second = services.approve_reorder(approval, **given)

    assert first == second
    assert len(lines(ledger)) == 1


def test_a_second_click_with_another_command_returns_the_first_order(
    ledger: psycopg.Connection, proposal: str
) -> None:
    first = services.approve_reorder(
        services.ApproveReorder(reorder_id=proposal, shown_revision=1), command_id=uuid4()
    )
    second = services.approve_reorder(
        services.ApproveReorder(reorder_id=proposal, shown_revision=1), command_id=uuid4()
    )

    assert second == OrderedBefore(first.reorder_id, first.line_ids, first.units, first.order_ref)
    assert len(lines(ledger)) == 1


def test_two_buyers_at_the_same_time_order_once(ledger: psycopg.Connection, proposal: str) -> None:
    outcomes = at_the_same_time(
        *(
            lambda actor=actor: services.approve_reorder(
                services.ApproveReorder(reorder_id=proposal, shown_revision=1),
                actor=actor,
                command_id=uuid4(),
            )
            for actor in ("buyer", "manager", "third", "fourth")
        )
    )

    assert (
        sorted(type(outcome).__name__ for outcome in outcomes)
        == ["Ordered"] + ["OrderedBefore"] * 3
    )
    assert len({outcome.line_ids for outcome in outcomes}) == 1
    assert len(lines(ledger)) == 1
    assert len(words(ledger)) == 1


def test_the_same_command_at_the_same_time_orders_once(
    ledger: psycopg.Connection, proposal: str
) -> None:
    command = uuid4()

    outcomes = at_the_same_time(
        *(
            lambda: services.approve_reorder(
                services.ApproveReorder(reorder_id=proposal, shown_revision=1), command_id=command
            )
            for _ in range(3)
        )
    )

    assert outcomes[0] == outcomes[1] == outcomes[2]
    assert len(lines(ledger)) == 1


def test_a_repeated_command_of_an_earlier_version_returns_its_order(
    ledger: psycopg.Connection, proposal: str
) -> None:
    command = uuid4()
    ledger.execute(
        "INSERT INTO app.command (command_id, kind, result) VALUES (%s, %s, %s::jsonb)",
        [
            command,
            f"approve {proposal}",
            '{"line_id": 7, "units": 42, "order_ref": "X-1", "repeated": false}',
        ],
    )

    again = services.approve_reorder(services.ApproveReorder(proposal, 1), command_id=command)

    assert again == Ordered(proposal, (7,), 42, "X-1")
    assert lines(ledger) == []


def test_when_a_proposal_is_approved_and_rejected_at_once_one_gets_a_conflict(
    ledger: psycopg.Connection, proposal: str
) -> None:
    outcomes = at_the_same_time(
        lambda: services.approve_reorder(
            services.ApproveReorder(reorder_id=proposal, shown_revision=1)
        ),
        lambda: services.reject_reorder(reorder_id=proposal, shown_revision=1, reason="too dear"),
    )

    assert sum(isinstance(outcome, Conflict) for outcome in outcomes) == 1
    assert len(words(ledger)) == 1


@pytest.mark.domain("7 proposal open")
def test_a_buyer_may_order_other_whole_packs(ledger: psycopg.Connection, proposal: str) -> None:
    with pytest.raises(ServiceError, match="multiple of the pack of 6"):
        services.approve_reorder(
            services.ApproveReorder(reorder_id=proposal, shown_revision=1, units=40)
        )

    services.approve_reorder(
        services.ApproveReorder(reorder_id=proposal, shown_revision=1, units=48)
    )

    assert lines(ledger)[0][1] == 48


def test_a_proposal_that_changed_since_it_was_shown_is_not_approved(
    ledger: psycopg.Connection, proposal: str
) -> None:
    ledger.execute("UPDATE app.reorder_proposal SET revision = 2, quantity_units = 48")

    with pytest.raises(Conflict, match=r"You saw revision 1 .* It now has revision 2"):
        services.approve_reorder(services.ApproveReorder(reorder_id=proposal, shown_revision=1))

    assert lines(ledger) == []


@pytest.mark.domain("7 proposal closed")
@pytest.mark.parametrize("status", ["accepted", "rejected", "cancelled", "superseded", "snoozed"])
def test_a_proposal_that_is_not_open_is_not_approved(
    ledger: psycopg.Connection, proposal: str, status: str
) -> None:
    ledger.execute("UPDATE app.reorder_proposal SET status = %s", [status])

    with pytest.raises(Conflict, match=status):
        services.approve_reorder(services.ApproveReorder(reorder_id=proposal, shown_revision=1))


def test_an_order_needs_a_supplier(ledger: psycopg.Connection, proposal: str) -> None:
    ledger.execute("UPDATE app.reorder_proposal SET supplier = NULL")
    ledger.execute("UPDATE retail.item_location SET supplier = NULL")

    with pytest.raises(ServiceError, match="supplier"):
        services.approve_reorder(services.ApproveReorder(reorder_id=proposal, shown_revision=1))

    assert (lines(ledger), words(ledger)) == ([], [])


@pytest.mark.domain("7 proposal open")
def test_a_rejection_needs_a_reason_and_blocks_a_later_approval(
    ledger: psycopg.Connection, proposal: str
) -> None:
    with pytest.raises(ServiceError, match="reason"):
        services.reject_reorder(reorder_id=proposal, shown_revision=1, reason=" ")

    services.reject_reorder(reorder_id=proposal, shown_revision=1, reason="ends", actor="buyer")

    assert words(ledger) == [("reject", 1, "ends", "buyer")]
    with pytest.raises(Conflict, match="already rejected this proposal"):
        services.approve_reorder(services.ApproveReorder(reorder_id=proposal, shown_revision=1))


@pytest.mark.domain("7 proposal open", "7 proposal held")
def test_a_snooze_lasts_at_most_90_days_and_can_be_resumed(
    ledger: psycopg.Connection, proposal: str
) -> None:
    now = datetime.now(UTC)  # noqa: TID251 -- the rule compares with the clock
    given: dict[str, Any] = {"reorder_id": proposal, "shown_revision": 1}
    with pytest.raises(ServiceError, match="90 days"):
        services.snooze_reorder(**given, until_at=now + timedelta(days=90, minutes=5))
    with pytest.raises(ServiceError, match="90 days"):
        services.snooze_reorder(**given, until_at=now - timedelta(minutes=5))

    services.snooze_reorder(**given, until_at=now + timedelta(days=89))
    ledger.execute("UPDATE app.reorder_proposal SET status = 'snoozed', revision = 2")
    services.resume_reorder(reorder_id=proposal)
    ledger.execute("UPDATE app.reorder_proposal SET status = 'open', revision = 3")
    services.approve_reorder(services.ApproveReorder(reorder_id=proposal, shown_revision=3))

    assert [word[0] for word in words(ledger)] == ["snooze", "resume", "approve"]
    assert len(lines(ledger)) == 1


def test_approving_an_unknown_proposal_is_refused(ledger: psycopg.Connection) -> None:
    with pytest.raises(ServiceError, match="no such proposal"):
        services.approve_reorder(services.ApproveReorder(reorder_id="R:none", shown_revision=1))


def test_a_conflict_names_the_system_if_a_rule_approved_the_proposal(
    ledger: psycopg.Connection, proposal: str
) -> None:
    ledger.execute(
        "UPDATE app.reorder_proposal SET decided_action = 'approve', decided_at = clock_timestamp()"
    )

    with pytest.raises(Conflict, match="the system has already approved this proposal"):
        services.snooze_reorder(reorder_id=proposal, shown_revision=1)
