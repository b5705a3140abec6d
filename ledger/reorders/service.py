"""The buyer's decisions on reorder proposals; an approval also writes the order lines."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final
from uuid import UUID

from ledger.kernel import checks
from ledger.kernel.errors import Conflict, LedgerError, ServiceError, refuse
from ledger.kernel.proposals import (
    REORDERS,
    Word,
    checked_until,
    is_unanswered,
    locked_proposal,
    refuse_if_moved,
    refuse_other_revision,
    said_at,
    say,
    speaker,
    write_word,
)
from ledger.kernel.refusal_text import moment_text, refusal_text
from ledger.kernel.transactions import Row, fetch_one, ledger_transaction, once
from ledger.reorders.approval import Approval, Approver, Ordered, Part, order_all

# A closed need may hold its item back (domain.md 5.3): episode state, and status of the need.
HELD_AFTER: Final = {"held-rejected": "rejected", "held-short": "accepted"}


def approve_reorder(  # noqa: PLR0913 -- one keyword per choice of the buyer
    *,
    reorder_id: str,
    shown_revision: int,
    units: int | None = None,
    supplier: str | None = None,
    due_on: date | None = None,
    odd_units_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """Order the quantity of a proposal, or `units`: decision and order line in one transaction.

    The line joins the draft order of its supplier and location; `send_order` sends it. Returns
    `{"line_id", "units", "order_ref", "repeated"}`. A second approval of the same need orders
    nothing and returns the first one's line with `repeated` true.
    """
    parts: tuple[Part, ...] = ()
    if supplier is not None or due_on is not None:
        if units is None:
            refuse("units", None, "needed beside another supplier or day")
        parts = (Part(units, supplier, due_on),)
    approval = Approval(reorder_id, shown_revision, units, parts)
    return _approve_one(approval, Approver(actor, odd_units_allowed), command_id)


def split_reorder(  # noqa: PLR0913 -- one keyword per choice of the buyer
    *,
    reorder_id: str,
    shown_revision: int,
    parts: Sequence[Part],
    units: int | None = None,
    odd_units_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """Approve one need with several order lines, each with its own supplier and day.

    Parts add up to `units`, or to the quantity of the proposal. Only the first line carries the
    reorder id. Returns the values of `approve_reorder`, and `"line_ids"`.
    """
    if not parts:
        refuse("parts", 0, "at least one part")
    approval = Approval(reorder_id, shown_revision, units, tuple(parts))
    return _approve_one(approval, Approver(actor, odd_units_allowed), command_id)


def approve_reorders(
    *,
    approvals: Sequence[Approval],
    odd_units_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> list[Row]:
    """Approve many needs in one transaction; return their results in order.

    A need that has changed is not ordered and has its reason in `"refused"`; the others are
    ordered. Each result is `{"reorder_id", "line_id", "units", "order_ref", "repeated",
    "refused"}`.
    """

    def work() -> Row:
        found = order_all(approvals, Approver(actor, odd_units_allowed))
        return {
            "results": [
                _result(approval, one) for approval, one in zip(approvals, found, strict=True)
            ]
        }

    with ledger_transaction():
        results: list[Row] = once(command_id, "approve_reorders", actor, work)["results"]
    return results


def approve_automatically(*, approvals: Sequence[Approval]) -> list[Row]:
    """Approve needs that rules allow, and send their orders; the actor is None."""
    with ledger_transaction():
        found = order_all(approvals, Approver(None, automatic=True))
        return [_result(approval, one) for approval, one in zip(approvals, found, strict=True)]


def _approve_one(approval: Approval, approver: Approver, command_id: UUID | None) -> Row:
    def work() -> Row:
        [one] = order_all([approval], approver)
        if isinstance(one, LedgerError):
            raise one
        done = _ordered(one)
        return done | {"line_ids": list(one.line_ids)} if approval.parts else done

    with ledger_transaction():
        return once(command_id, f"approve {approval.reorder_id}", approver.actor, work)


def _ordered(one: Ordered) -> Row:
    return {
        "line_id": one.line_ids[0],
        "units": one.units,
        "order_ref": one.order_ref,
        "repeated": one.repeated,
    }


def _result(approval: Approval, one: Ordered | LedgerError) -> Row:
    named: Row = {"reorder_id": approval.reorder_id, "refused": None}
    match one:
        case Ordered():
            return named | _ordered(one)
        case Conflict():
            refused = one.what_changed
        case ServiceError():
            refused = refusal_text(one)
        case _:
            refused = str(one)
    nothing = {"line_id": None, "units": 0, "order_ref": None, "repeated": False}
    return named | nothing | {"refused": refused}


def reject_reorder(
    *,
    reorder_id: str,
    shown_revision: int,
    reason: str,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """Reject a need; it may come back under a new id after its hold."""
    given = checks.text("reason", reason, longest=checks.LONGEST_REASON)
    word = Word(REORDERS, reorder_id, "reject", shown_revision, actor, None, given)
    return say(word, allowed=("open", "snoozed"), command_id=command_id)


def snooze_reorder(
    *,
    reorder_id: str,
    shown_revision: int,
    until_at: datetime | None = None,
    reason: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """Snooze a need until a time, by default for seven days."""
    until = checked_until(until_at)
    word = Word(REORDERS, reorder_id, "snooze", shown_revision, actor, until, reason)
    return say(word, allowed=("open", "snoozed"), command_id=command_id)


def resume_reorder(
    *,
    reorder_id: str,
    shown_revision: int | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """End a hold now: a snooze, or the hold after a rejection or a short order (domain.md 7).

    A snoozed need opens again unchanged. A rejected or answered need stays closed; if the item is
    still short, the end of its hold opens a need with a new id.
    """
    word = Word(REORDERS, reorder_id, "resume", shown_revision, actor)

    def work() -> Row:
        row = locked_proposal(REORDERS, reorder_id)
        if row["status"] in HELD_AFTER.values():
            _refuse_if_not_held(row, word)
        else:
            refuse_if_moved(row, word, allowed=("snoozed",))
        return {"decision_id": write_word(row, word), "action": word.action}

    with ledger_transaction():
        return once(command_id, f"resume {reorder_id}", actor, work)


def _refuse_if_not_held(row: Row, word: Word) -> None:
    """Raise `Conflict` unless the item is held because of this closed need."""
    if row["decided_action"] == "resume" and is_unanswered(row):
        message = f"{speaker(row)} has already resumed it, {said_at(row)}"
        raise Conflict(message)
    key = fetch_one(
        "SELECT episode_state, reorder_id FROM read_model.stock WHERE inv_key = %s", row["inv_key"]
    )
    state = key["episode_state"] if key and key["reorder_id"] == word.proposal else ""
    if HELD_AFTER.get(state) != row["status"]:
        message = (
            f"{word.proposal} is {row['status']} and holds nothing back any more,"
            f" since {moment_text(row['updated_at'])}"
        )
        raise Conflict(message)
    refuse_other_revision(row, word)
