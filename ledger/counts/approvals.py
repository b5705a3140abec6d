"""Approval of counts: another person than the counter turns a draft into a fact.

A draft changes nothing. SQL computes the expected units (`app.expected_at`), so that the page, this
service and a reader with psql get one number.
"""

from dataclasses import dataclass
from uuid import UUID

from inventory.reports.conditions import is_variance_due, tolerance_units
from ledger.access.scope import require_key
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import (
    Row,
    database_now,
    execute,
    fetch_one,
    ledger_transaction,
    log_action,
    run_idempotent,
)


@dataclass(frozen=True, slots=True)
class Approved:
    """The result of an approval: the count, the expected units at its second, the difference."""

    count_id: int
    expected_units: int
    variance_units: int


def approve_waiting_count(
    *,
    count_id: int,
    actor: str,
    shown_expected_units: int | None = None,
    command_id: UUID | None = None,
) -> Approved:
    """Approve a draft: on-hand becomes its units at its second, plus the movements since.

    Raise `ServiceError` if `actor` counted it. Raise `Conflict` if a second blind count is due, or
    if the expected units differ from `shown_expected_units`.
    """

    def work() -> Row:
        count = _locked_draft(count_id)
        _refuse_approver(count, actor)
        _refuse_if_moved(count, shown_expected_units)
        _check_second_count(count)
        return _approve(count, actor)

    with ledger_transaction():
        done = run_idempotent(command_id, f"approve_waiting_count {count_id}", actor, work)
    return Approved(count_id, int(done["expected"]), int(done["variance"]))


def refuse_waiting_count(
    *, count_id: int, actor: str, reason: str, command_id: UUID | None = None
) -> None:
    """Void a draft; raise `Conflict` if it has been approved or voided meanwhile."""
    given = checks.text("reason", reason, longest=checks.LONGEST_REASON)

    def work() -> Row:
        count = _locked_draft(count_id)
        execute(
            "UPDATE retail.stock_count SET status = 'void', recorded_by = %s WHERE id = %s",
            actor,
            count_id,
        )
        detail = {"count": count_id, "was": "draft", "reason": given}
        log_action(actor=actor, action="void_count", subject=count["inv_key"], detail=detail)
        return {}

    with ledger_transaction():
        run_idempotent(command_id, f"refuse_count {count_id}", actor, work)


def ask_for_recount(*, count_id: int, actor: str) -> None:
    """Require a second count before this draft can be approved."""
    with ledger_transaction():
        count = _locked_draft(count_id)
        execute("UPDATE retail.stock_count SET recount_asked = true WHERE id = %s", count_id)
        detail = {"count": count_id}
        log_action(actor=actor, action="ask_recount", subject=count["inv_key"], detail=detail)


def _locked_draft(count_id: int) -> Row:
    """Return a waiting count with its expected units, locked until the transaction ends."""
    locked = fetch_one(
        "SELECT inv_key, status, units, approved_by, recorded_by, recorded_at"
        " FROM retail.stock_count"
        " WHERE id = %s FOR UPDATE",
        count_id,
    )
    if locked is None:
        refuse("count_id", count_id, "no such count")
    require_key(locked["inv_key"])
    if locked["status"] == "approved":
        who, at = person(locked["approved_by"]), moment_text(locked["recorded_at"])
        message = f"{who} has approved count {count_id} of {locked['units']:,} units already, {at}"
        raise Conflict(message)
    if locked["status"] == "void":
        who, at = person(locked["recorded_by"]), moment_text(locked["recorded_at"])
        message = f"{who} has refused count {count_id}, or counted again, {at}: it is void"
        raise Conflict(message)
    # A second statement: it sees the commits that happened while this one waited for the lock.
    count = fetch_one(
        "SELECT c.*, t.at AS business_at, e.expected_units, e.stock_known"
        " FROM retail.stock_count c,"
        " LATERAL (SELECT retail.business_at(c.occurred_at, c.recorded_at) AS at) t,"
        " LATERAL app.expected_at(c.inv_key, t.at, c.id) e WHERE c.id = %s",
        count_id,
    )
    if count is None:
        refuse("count_id", count_id, "no such count")
    return count


def _counted_by(count: Row) -> str | None:
    """Return the counter's name; drafts of other systems may only have `recorded_by`."""
    named: str | None = count["counted_by"] or count["recorded_by"]
    return named


def _refuse_approver(count: Row, actor: str) -> None:
    if _counted_by(count) == actor:
        refuse("actor", actor, "another person than the one who counted has to approve")


def _refuse_if_moved(count: Row, shown_expected_units: int | None) -> None:
    """Refuse a draft older than 48 h, or one whose expected units have changed."""
    if not checks.is_correctable(count["business_at"], database_now()):
        message = f"count {count['id']} is older than 48 h: count again"
        raise Conflict(message)
    if shown_expected_units not in (None, count["expected_units"]):
        message = (
            f"{shown_expected_units} units were expected when this was shown,"
            f" {count['expected_units']} are now, because of facts that came in late"
        )
        raise Conflict(message)


def _approve(count: Row, actor: str) -> Row:
    counted_by, expected = _counted_by(count), int(count["expected_units"])
    execute(
        "UPDATE retail.stock_count SET status = 'approved', counted_by = %s, approved_by = %s,"
        " expected_units = %s, recorded_by = %s WHERE id = %s",
        counted_by,
        actor,
        expected,
        actor,
        count["id"],
    )
    detail = {"count": count["id"], "units": count["units"], "expected": expected}
    detail |= {"counted_by": counted_by}
    log_action(actor=actor, action="approve_count", subject=count["inv_key"], detail=detail)
    return {"expected": expected, "variance": int(count["units"]) - expected}


def _check_second_count(count: Row) -> None:
    """Require a second blind count if the difference is over the tolerance."""
    if count["recount_asked"]:
        message = f"a second count of {count['inv_key']} was requested and comes first"
        raise Conflict(message)
    units, expected = int(count["units"]), int(count["expected_units"])
    is_first = count["stock_known"] and count["recount_of"] is None
    if is_first and is_variance_due(units, expected):
        message = (
            f"{units - expected:+d} units is more than the tolerance of"
            f" {tolerance_units(expected)}: a second blind count comes first"
        )
        raise Conflict(message)
