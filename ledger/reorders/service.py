"""The buyer's decisions on reorder proposals; an approval also writes the order lines."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, assert_never
from uuid import UUID

from ledger.kernel import checks
from ledger.kernel.errors import Conflict, LedgerError, ServiceError
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
from ledger.kernel.refusal_text import moment_text, refusal_text
from ledger.kernel.transactions import ledger_transaction
from ledger.kernel.unscoped_rows import read_one
from ledger.reorders.approval import (
    ApprovalOutcome,
    Approver,
    ApproveReorder,
    NotOrdered,
    Ordered,
    OrderedBefore,
    order_all,
)

# A closed need may hold its item back (domain.md 5.3): episode state, and status of the need.
HELD_AFTER: Final = {"held-rejected": "rejected", "held-short": "accepted"}


@dataclass(frozen=True, slots=True)
class _Episode:
    """The state of a key's latest need, and its id, as the read model shows them."""

    episode_state: str
    reorder_id: str | None


def approve_reorder(
    command: ApproveReorder,
    *,
    odd_units_allowed: bool = False,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Ordered | OrderedBefore:
    """Order a need: decision and order lines in one transaction.

    The lines join the draft orders of their suppliers and locations; `send_order` sends them. A
    second approval of the same need orders nothing and returns the first one's line.
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
    """Approve many needs in one transaction; return their outcomes in order.

    A need that has changed is not ordered; the others are.
    """

    def work() -> ResultDocument:
        outcomes = _order(commands, Approver(actor, odd_units_allowed))
        return {"results": [_document(outcome) for outcome in outcomes]}

    documents = run_idempotent(command_id, "approve_reorders", actor, work, content=[*commands])[
        "results"
    ]
    return [_outcome(document) for document in documents]


def approve_automatically(commands: Sequence[ApproveReorder]) -> list[ApprovalOutcome]:
    """Approve needs that rules allow, and send their orders; the actor is None."""
    with ledger_transaction():
        return _order(commands, Approver(None, automatic=True))


def _order(commands: Sequence[ApproveReorder], approver: Approver) -> list[ApprovalOutcome]:
    found = zip(commands, order_all(commands, approver), strict=True)
    return [
        NotOrdered(command.reorder_id, _reason(one)) if isinstance(one, LedgerError) else one
        for command, one in found
    ]


def _reason(refusal: LedgerError) -> str:
    match refusal:
        case Conflict():
            return refusal.what_changed
        case ServiceError():
            return refusal_text(refusal)
        case _:
            return str(refusal)


def _document(outcome: ApprovalOutcome) -> ResultDocument:
    """Return an outcome as the result document of its command."""
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
    # Results of earlier versions name one line only.
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
    """Reject a need; return the decision's id. It may come back under a new id after its hold."""
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
    """Snooze a need until or for a time, by default for seven days; return the decision's id."""
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
    """End a hold now: a snooze, or the hold after a rejection or a short order (domain.md 7).

    A snoozed need opens again unchanged. A rejected or answered need stays closed; if the item is
    still short, the end of its hold opens a need with a new id. Return the decision's id.
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
    """Raise `Conflict` unless the item is held because of this closed need."""
    if row.decided_action == "resume" and row.is_unanswered:
        message = f"{row.decider} has already resumed it, {row.decision_time}"
        raise Conflict(message)
    sql = "SELECT episode_state, reorder_id FROM read_model.stock WHERE inv_key = %s"
    episode = read_one(_Episode, sql, row.inv_key)
    state = episode.episode_state if episode and episode.reorder_id == decision.proposal else ""
    if HELD_AFTER.get(state) != row.status:
        message = (
            f"{decision.proposal} is {row.status} and holds nothing back any more,"
            f" since {moment_text(row.updated_at)}"
        )
        raise Conflict(message)
    refuse_other_revision(row, decision)
