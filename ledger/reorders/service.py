"""Decisions on reorder proposals: approve, reject, snooze and resume.

An approval also writes the order lines.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, assert_never
from uuid import UUID

from ledger.kernel import checks
from ledger.kernel.errors import Conflict, LedgerError
from ledger.kernel.idempotency import ResultDocument, run_command, run_idempotent
from ledger.kernel.proposal_rows import REORDERS, NeedProposal, locked_proposal
from ledger.kernel.proposals import (
    Decided,
    Decision,
    checked_until,
    decide,
    refuse_if_moved,
    refuse_other_revision,
    write_decision,
)
from ledger.kernel.refusal_text import moment_text
from ledger.kernel.transactions import ledger_transaction
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message
from ledger.reorders.approval import order_all
from ledger.reorders.approvals import (
    ApprovalOutcome,
    Approver,
    ApproveReorder,
    NotOrdered,
    Ordered,
    OrderedBefore,
)
from ledger.reorders.pending import refusal_reason

# After a rejection or an order of too few units, the item has a hold: the rules open no new need
# (docs/domain.md 5.3). This mapping has the state of the item's episode during the hold, and the
# status of the closed need that caused the hold.
HELD_AFTER: Final = {"held-rejected": "rejected", "held-short": "accepted"}


@dataclass(frozen=True, slots=True)
class _Episode:
    """A key's latest need in the read model: its state, for example `held-rejected`, and its id."""

    episode_state: str
    reorder_id: str | None


def approve_reorder(
    command: ApproveReorder,
    *,
    odd_units_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Ordered | OrderedBefore:
    """Approve a need and write its order lines, in one transaction.

    The lines become part of the draft orders of their suppliers and locations, which `send_order`
    sends. If the need was approved before, nothing is ordered and the earlier line is returned.

    Raises:
        ServiceError: a value breaks a rule, for example odd units or an inactive supplier.
        Conflict: the need is closed or snoozed, has another revision, or was ordered with another
            quantity.
    """
    approver = Approver(actor, odd_units_allowed)

    def work() -> ResultDocument:
        [one] = order_all([command], approver)
        if isinstance(one, LedgerError):
            raise one
        return _document(one)

    document = run_idempotent(
        command_id, f"approve {command.reorder_id}", actor, work, content=command
    )
    return _ordered(command.reorder_id, document)


def approve_reorders(
    commands: Sequence[ApproveReorder],
    *,
    odd_units_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> list[ApprovalOutcome]:
    """Approve up to 500 needs in one transaction; return the outcomes in the order of `commands`.

    A need that is refused is `NotOrdered`; the others are ordered.
    """

    def work() -> ResultDocument:
        outcomes = _order(commands, Approver(actor, odd_units_allowed))
        return {"results": [_document(outcome) for outcome in outcomes]}

    documents = run_idempotent(command_id, "approve_reorders", actor, work, content=[*commands])[
        "results"
    ]
    return [_outcome(document) for document in documents]


def approve_automatically(commands: Sequence[ApproveReorder]) -> list[ApprovalOutcome]:
    """Approve needs by rule; return the outcomes in the order of `commands`.

    Their orders are sent at once and record no actor.
    """
    with ledger_transaction():
        return _order(commands, Approver(None, automatic=True))


def approve_and_send(
    commands: Sequence[ApproveReorder], approver: Approver
) -> list[ApprovalOutcome]:
    """Approve needs and send their orders at once, as part of the caller's transaction.

    Return the outcomes in the order of `commands`.
    """
    return _order(commands, approver)


def _order(commands: Sequence[ApproveReorder], approver: Approver) -> list[ApprovalOutcome]:
    found = zip(commands, order_all(commands, approver, is_bulk=True), strict=True)
    return [
        NotOrdered(command.reorder_id, refusal_reason(one)) if isinstance(one, LedgerError) else one
        for command, one in found
    ]


def _document(outcome: ApprovalOutcome) -> ResultDocument:
    """Return an outcome as JSON for `app.command`."""
    match outcome:
        case NotOrdered():
            return {"reorder_id": outcome.reorder_id, "refused": outcome.reason}
        case Ordered() | OrderedBefore():
            return {
                "reorder_id": outcome.reorder_id,
                "refused": None,
                "line_id": outcome.line_ids[0],
                "line_ids": list(outcome.line_ids),
                "units": outcome.units,
                "order_ref": outcome.order_ref,
                "repeated": isinstance(outcome, OrderedBefore),
            }
        case _:
            assert_never(outcome)


def _outcome(document: ResultDocument) -> ApprovalOutcome:
    if document["refused"] is not None:
        return NotOrdered(document["reorder_id"], document["refused"])
    return _ordered(document["reorder_id"], document)


def _ordered(reorder_id: str, document: ResultDocument) -> Ordered | OrderedBefore:
    # Results that earlier versions stored have only `line_id`.
    line_ids = tuple(document.get("line_ids") or [document["line_id"]])
    written = OrderedBefore if document["repeated"] else Ordered
    return written(reorder_id, line_ids, document["units"], document["order_ref"])


def reject_reorder(
    *,
    reorder_id: str,
    shown_revision: int,
    reason: str,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Reject a need; return the decision's id.

    For seven days the rules then open no new need for the item. This hold ends earlier if a person
    resumes the need, the policy changes, or the stock rises well above the reorder point
    (docs/domain.md 5.3).
    """
    given = checks.text("reason", reason, longest=checks.LONGEST_REASON)
    decision = Decision(REORDERS, reorder_id, "reject", shown_revision, actor, None, given)
    allowed = ("open", "snoozed")
    return decide(decision, allowed=allowed, command_id=command_id, content=reason)


def snooze_reorder(
    *,
    reorder_id: str,
    shown_revision: int,
    until_at: datetime | timedelta | None = None,
    reason: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Snooze a need until a time or for a span, by default seven days; return the decision's id."""
    until = checked_until(until_at)
    decision = Decision(REORDERS, reorder_id, "snooze", shown_revision, actor, until, reason)
    allowed, content = ("open", "snoozed"), (until_at, reason)
    return decide(decision, allowed=allowed, command_id=command_id, content=content)


def resume_reorder(
    *,
    reorder_id: str,
    shown_revision: int | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """End the hold of a need now; return the decision's id (docs/domain.md 5.3).

    During a hold the rules open no new need of the item. A hold follows a snooze, a rejection, or
    an order of too few units. After the resume, a snoozed need opens again with the same id if the
    item still needs units. A rejected or ordered need stays closed; if the item still needs units,
    the rules open a new need.

    Raise `ServiceError` for an unknown need, `Conflict` for a need without a hold.
    """
    decision = Decision(REORDERS, reorder_id, "resume", shown_revision, actor)

    def work() -> Decided:
        row = locked_proposal(REORDERS, reorder_id)
        if row.status in HELD_AFTER.values():
            _refuse_if_not_held(row, decision)
        else:
            refuse_if_moved(row, decision, allowed=("snoozed",))
        return Decided(write_decision(row, decision), decision.action)

    return run_command(
        command_id, f"resume {reorder_id}", actor, work, Decided, content=reorder_id
    ).decision_id


def _refuse_if_not_held(row: NeedProposal, decision: Decision) -> None:
    """Raise `Conflict` if the hold of a closed need has ended already.

    A hold is the time in which the rules open no new need of the item.
    """
    if row.decided_action == "resume" and row.is_unanswered:
        message = Message(
            "%(decider)s has already resumed this proposal, %(decision_time)s",
            decider=row.decider,
            decision_time=row.decision_time,
        )
        raise Conflict(message)
    sql = "SELECT episode_state, reorder_id FROM read_model.stock WHERE inv_key = %s"
    episode = read_one(_Episode, sql, row.inv_key)
    state = episode.episode_state if episode and episode.reorder_id == decision.proposal else ""
    if HELD_AFTER.get(state) != row.status:
        message = Message(
            "%(proposal)s has been %(status)s since %(updated_at)s. It no longer holds back new "
            "needs of the item, so there is nothing to resume",
            proposal=decision.proposal,
            status=Message(row.status),
            updated_at=moment_text(row.updated_at),
        )
        raise Conflict(message)
    refuse_other_revision(row, decision)
