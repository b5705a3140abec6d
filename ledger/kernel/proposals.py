"""Decisions on reorder and price proposals.

`decide` and `answer_need` lock the proposal and compare its revision with the revision that the
person saw. Then they insert a row into the table of decisions.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from ledger.kernel.checks import check_business_time
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.proposal_rows import REORDERS, Desk, Proposal, locked_proposal
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import database_now, execute, insert, log_action
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message

FINAL: Final = ("approve", "reject")
LONGEST_SNOOZE: Final = timedelta(days=90)


class Decision(NamedTuple):
    """A decision on a proposal, and the revision that the person saw (None for no check).

    `desk` names the tables, and `proposal` is the proposal's id. `action` is approve, reject,
    snooze or resume. `until_at` is the end of a snooze.
    """

    desk: Desk[Proposal]
    proposal: str
    action: str
    shown_revision: int | None
    actor: str | None
    until_at: datetime | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Decided:
    """The stored result of a decision: the id of its row, and its action."""

    decision_id: int
    action: str


@dataclass(frozen=True, slots=True)
class _LastDecision:
    """The person and time of the last decision on a proposal."""

    decided_by: str | None
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class _Snooze:
    """The end of a snooze (None for the default), and the reason if the person gave one."""

    until_at: datetime | None
    reason: str | None


def refuse_if_moved(row: Proposal, decision: Decision, *, allowed: tuple[str, ...]) -> None:
    """Raise `Conflict` if the proposal is decided, or differs from what the person saw.

    Each of these is a conflict:
    * an earlier approval or rejection;
    * a status that is not in `allowed`, or another revision than the person saw;
    * a snooze that the workers have not processed yet, unless the new decision is a resume;
    * a second resume, while the workers have not processed the first one.
    """
    if row.decided_action in FINAL:
        message = Message(
            "%(decider)s has already %(decided)s this proposal, %(decision_time)s",
            decider=row.decider,
            decided=Message("approved" if row.decided_action == "approve" else "rejected"),
            decision_time=row.decision_time,
        )
        raise Conflict(message)
    if decision.action == row.decided_action == "resume" and row.is_unanswered:
        message = Message(
            "%(decider)s has already resumed this proposal, %(decision_time)s",
            decider=row.decider,
            decision_time=row.decision_time,
        )
        raise Conflict(message)
    snoozed = row.decided_action == "snooze"
    if row.status not in allowed:
        is_snoozed = snoozed and row.status == "snoozed"
        why = Message(": %(why)s", why=_snoozed(row, decision)) if is_snoozed else ""
        since = (
            "" if why else Message(", since %(updated_at)s", updated_at=moment_text(row.updated_at))
        )
        message = Message(
            "This proposal is %(status)s now%(why)s%(since)s",
            status=Message(row.status),
            why=why,
            since=since,
        )
        raise Conflict(message)
    if snoozed and row.is_unanswered and decision.action != "resume":
        raise Conflict(_snoozed(row, decision))
    refuse_other_revision(row, decision)


def refuse_other_revision(row: Proposal, decision: Decision) -> None:
    """Raise `Conflict` unless the person saw the newest revision.

    If `decision.shown_revision` is None, there is no check.
    """
    if decision.shown_revision is not None and decision.shown_revision != row.revision:
        message = Message(
            "You saw revision %(shown_revision)s of this proposal, but it changed at "
            "%(updated_at)s. It now has revision %(revision)s%(asks)s. Check the proposal and "
            "decide again",
            shown_revision=decision.shown_revision,
            revision=row.revision,
            asks=row.asks,
            updated_at=moment_text(row.updated_at),
        )
        raise Conflict(message)


def last_decision(desk: Desk[Proposal], proposal: str) -> tuple[str, str]:
    """Return the person and the time of the last decision on a proposal, both as text."""
    last = read_one(
        _LastDecision,
        f"SELECT decided_by, decided_at FROM app.{desk.table} WHERE {desk.id_column} = %s",  # noqa: S608 -- names of the two desks
        proposal,
    )
    if last is None or last.decided_at is None:
        refuse(desk.id_column, proposal, "no proposal with this id was decided")
    return person(last.decided_by), moment_text(last.decided_at)


def _snoozed(row: Proposal, decision: Decision) -> str:
    """Return a text for people about the last snooze: its person, its end and its reason."""
    snooze = read_one(
        _Snooze,
        f"SELECT until_at, reason FROM retail.{decision.desk.decisions} WHERE inv_key = %s"  # noqa: S608 -- names come from the two desks above
        f" AND {decision.desk.id_column} = %s AND action = 'snooze' ORDER BY id DESC LIMIT 1",
        row.inv_key,
        decision.proposal,
    )
    until = (
        Message(" until %(until_at)s", until_at=moment_text(snooze.until_at))
        if snooze and snooze.until_at
        else ""
    )
    reason = f" ({snooze.reason})" if snooze and snooze.reason else ""
    return Message(
        "%(decider)s has snoozed this proposal%(until)s%(reason)s, on %(decision_time)s",
        decider=row.decider,
        until=until,
        reason=reason,
        decision_time=row.decision_time,
    )


def write_decision(row: Proposal, decision: Decision, *, units: int | None = None) -> int:
    """Insert the decision, and copy it to the proposal and the audit log; return the decision's id.

    `units` are the units that an approval orders, for the audit log.
    """
    desk = decision.desk
    decision_id = insert(
        desk.decisions,
        {
            **row.key_columns,
            desk.id_column: decision.proposal,
            "action": decision.action,
            "until_at": decision.until_at,
            "reason": decision.reason,
            desk.revision_column: row.revision,
            "recorded_by": decision.actor,
        },
    )
    execute(
        f"UPDATE app.{desk.table} SET decided_action = %s, decided_by = %s,"  # noqa: S608 -- names come from the two desks above
        f" decided_at = clock_timestamp() WHERE {desk.id_column} = %s",
        decision.action,
        decision.actor,
        decision.proposal,
    )
    detail = {"revision": row.revision, "units": units, "reason": decision.reason}
    log_action(
        actor=decision.actor, action=decision.action, subject=decision.proposal, detail=detail
    )
    return decision_id


class Answer(NamedTuple):
    """An order or transfer of `units` that answers a need.

    `inv_key` is the key that gets the units, `shown_revision` the revision that the actor saw.
    """

    reorder_id: str
    inv_key: str
    units: int
    actor: str | None
    shown_revision: int | None = None


def answer_need(answer: Answer, *, is_order: bool = False) -> None:
    """Write the approval of a need under its lock, so that only one order or transfer answers it.

    With `is_order` the units are stored in `decided_units` of the proposal. For a transfer that
    column stays null.

    Raises:
        ServiceError: no such need, or it belongs to another key.
        Conflict: the need is closed, snoozed or decided, or has another revision than shown.
    """
    need = locked_proposal(REORDERS, answer.reorder_id)
    if need.inv_key != answer.inv_key:
        location, _, sku = answer.inv_key.partition("|")
        refuse(
            "reorder_id",
            answer.reorder_id,
            Message(
                "a need of another item: choose a need of %(location)s for %(sku)s",
                location=location,
                sku=sku,
            ),
        )
    decision = Decision(REORDERS, answer.reorder_id, "approve", answer.shown_revision, answer.actor)
    refuse_if_moved(need, decision, allowed=("open",))
    write_decision(need, decision, units=answer.units)
    if is_order:
        execute(
            "UPDATE app.reorder_proposal SET decided_units = %s WHERE reorder_id = %s",
            answer.units,
            answer.reorder_id,
        )


def decide(
    decision: Decision, *, allowed: tuple[str, ...], command_id: UUID | None, content: object
) -> int:
    """Write a decision that orders nothing and sets no price; return the decision's id.

    The action of the decision is reject, snooze or resume.

    `allowed` are the statuses in which the proposal accepts the decision. `content` has the values
    of the command as they were given. `refuse_if_moved` lists the causes of a `Conflict`.
    """

    def work() -> Decided:
        row = locked_proposal(decision.desk, decision.proposal)
        refuse_if_moved(row, decision, allowed=allowed)
        return Decided(write_decision(row, decision), decision.action)

    kind = f"{decision.action} {decision.proposal}"
    return run_command(command_id, kind, decision.actor, work, Decided, content=content).decision_id


def checked_until(until_at: datetime | timedelta | None) -> datetime | None:
    """Return the end of a snooze as a time, or None if `until_at` is None.

    With None, the rules choose the end: for a need, seven days later. A `timedelta` counts from the
    database's time. Forms pass a `timedelta`, because it is the same value when a form is sent
    again, and `run_command` compares the values. Raise `ServiceError` for an end that is past or
    more than 90 days ahead.
    """
    now = database_now()
    given = now + until_at if isinstance(until_at, timedelta) else until_at
    at = check_business_time("until_at", given)
    if at is None:
        return None
    if not now < at <= now + LONGEST_SNOOZE:
        refuse("until_at", at, "a time within the next 90 days")
    return at
