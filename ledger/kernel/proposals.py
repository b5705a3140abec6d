"""Functions for both kinds of proposals: lock, compare with the shown revision, decide."""

from datetime import datetime, timedelta
from typing import Final, NamedTuple
from uuid import UUID

from inventory.explain.formatting import money_text
from ledger.access.scope import require_key
from ledger.kernel.checks import happened
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import (
    Row,
    database_now,
    execute,
    fetch_one,
    insert,
    ledger_transaction,
    log_action,
    once,
)

FINAL: Final = ("approve", "reject")
LONGEST_SNOOZE: Final = timedelta(days=90)


class Desk(NamedTuple):
    """The table of one kind of proposals, and the table of the decisions on them."""

    table: str
    id_column: str
    decisions: str
    revision_column: str


REORDERS: Final = Desk("reorder_proposal", "reorder_id", "reorder_decision", "need_revision")
PRICES: Final = Desk("price_proposal", "proposal_id", "price_decision", "price_revision")


class Word(NamedTuple):
    """A person's decision on a proposal, with the revision that was shown."""

    desk: Desk
    proposal: str
    action: str
    shown_revision: int | None
    actor: str | None
    until_at: datetime | None = None
    reason: str | None = None


def locked_proposal(desk: Desk, proposal: str) -> Row:
    """Return the proposal's row, locked until the transaction ends."""
    row = fetch_one(
        f"SELECT * FROM app.{desk.table} WHERE {desk.id_column} = %s FOR UPDATE",  # noqa: S608 -- names come from the two desks above
        proposal,
    )
    if row is None:
        refuse(desk.id_column, proposal, "no such proposal")
    require_key(row["inv_key"])
    return row


def refuse_if_moved(row: Row, word: Word, *, allowed: tuple[str, ...]) -> None:
    """Raise `Conflict` if the proposal differs from what the person saw, or is decided.

    A final decision is permanent. A snooze that has not come back through the log yet also
    conflicts, because the page of this person did not show it.
    """
    if row["decided_action"] in FINAL:
        message = f"{speaker(row)} has already said {row['decided_action']}, {said_at(row)}"
        raise Conflict(message)
    if word.action == row["decided_action"] == "resume" and is_unanswered(row):
        message = f"{speaker(row)} has already resumed it, {said_at(row)}"
        raise Conflict(message)
    snoozed = row["decided_action"] == "snooze"
    if row["status"] not in allowed:
        why = f": {_snoozed(row, word)}" if snoozed and row["status"] == "snoozed" else ""
        since = "" if why else f", since {moment_text(row['updated_at'])}"
        message = f"{word.proposal} is {row['status']} now{why}{since}"
        raise Conflict(message)
    if snoozed and is_unanswered(row) and word.action != "resume":
        raise Conflict(_snoozed(row, word))
    refuse_other_revision(row, word)


def refuse_other_revision(row: Row, word: Word) -> None:
    """Raise `Conflict` if the person saw another revision."""
    if word.shown_revision is not None and word.shown_revision != row["revision"]:
        message = (
            f"{word.proposal} has changed: revision {word.shown_revision} was shown,"
            f" {row['revision']} stands{_asks(row)} since {moment_text(row['updated_at'])}"
        )
        raise Conflict(message)


def _asks(row: Row) -> str:
    """Return the quantity or price that the proposal asks for now, as text."""
    if row.get("quantity_units") is not None:
        return f" and asks for {row['quantity_units']:,} units"
    if row.get("new_minor") is not None:
        return f" and asks for {money_text(row['new_minor'])}"
    return ""


def is_unanswered(row: Row) -> bool:
    """Return True if the last decision has not come back through the log: no event followed it."""
    return row["decided_at"] is not None and row["decided_at"] > row["updated_at"]


def speaker(row: Row) -> str:
    """Return who made the last decision, for a sentence."""
    return person(row["decided_by"])


def said_at(row: Row) -> str:
    """Return when the last decision was made, for a sentence."""
    return moment_text(row["decided_at"])


def last_word(desk: Desk, proposal: str) -> tuple[str, str]:
    """Return who made the last decision on a proposal and when, for a sentence."""
    row = fetch_one(
        f"SELECT decided_by, decided_at FROM app.{desk.table} WHERE {desk.id_column} = %s",  # noqa: S608 -- names come from the two desks above
        proposal,
    )
    if row is None or row["decided_at"] is None:
        refuse(desk.id_column, proposal, "no such proposal with a word on it")
    return speaker(row), said_at(row)


def _snoozed(row: Row, word: Word) -> str:
    """Return who snoozed the proposal, until when and why, for a sentence."""
    said = fetch_one(
        f"SELECT until_at, reason FROM retail.{word.desk.decisions} WHERE inv_key = %s"  # noqa: S608 -- names come from the two desks above
        f" AND {word.desk.id_column} = %s AND action = 'snooze' ORDER BY id DESC LIMIT 1",
        row["inv_key"],
        word.proposal,
    )
    until = f" until {moment_text(said['until_at'])}" if said and said["until_at"] else ""
    reason = f" ({said['reason']})" if said and said["reason"] else ""
    return f"{speaker(row)} has snoozed it{until}{reason}, {said_at(row)}"


def write_word(row: Row, word: Word, *, units: int | None = None) -> int:
    """Insert the decision row and copy the decision to the proposal; return the decision's id."""
    desk = word.desk
    decision_id = insert(
        desk.decisions,
        {
            **{name: row[name] for name in ("inv_key", "location", "sku")},
            desk.id_column: word.proposal,
            "action": word.action,
            "until_at": word.until_at,
            "reason": word.reason,
            desk.revision_column: row["revision"],
            "recorded_by": word.actor,
        },
    )
    execute(
        f"UPDATE app.{desk.table} SET decided_action = %s, decided_by = %s,"  # noqa: S608 -- names come from the two desks above
        f" decided_at = clock_timestamp() WHERE {desk.id_column} = %s",
        word.action,
        word.actor,
        word.proposal,
    )
    detail = {"revision": row["revision"], "units": units, "reason": word.reason}
    log_action(actor=word.actor, action=word.action, subject=word.proposal, detail=detail)
    return decision_id


class Answer(NamedTuple):
    """Units that meet a need of a key, the actor, and the revision that was shown."""

    reorder_id: str
    inv_key: str
    units: int
    actor: str | None
    shown_revision: int | None = None


def answer_need(answer: Answer, *, is_order: bool = False) -> None:
    """Mark a need as met, under its lock, so that nothing else meets it as well.

    Raise `ServiceError` for a need of another key, `Conflict` for one that is closed, snoozed or
    decided. For an order the units are stored on the proposal; a transfer stores none there.
    """
    need = locked_proposal(REORDERS, answer.reorder_id)
    if need["inv_key"] != answer.inv_key:
        location, _, sku = answer.inv_key.partition("|")
        refuse("reorder_id", answer.reorder_id, f"a need of {location} for {sku}")
    word = Word(REORDERS, answer.reorder_id, "approve", answer.shown_revision, answer.actor)
    refuse_if_moved(need, word, allowed=("open",))
    write_word(need, word, units=answer.units)
    if is_order:
        execute(
            "UPDATE app.reorder_proposal SET decided_units = %s WHERE reorder_id = %s",
            answer.units,
            answer.reorder_id,
        )


def say(
    word: Word,
    *,
    allowed: tuple[str, ...],
    command_id: UUID | None,
) -> Row:
    """Write a decision that is only a decision row: reject, snooze, resume."""

    def work() -> Row:
        row = locked_proposal(word.desk, word.proposal)
        refuse_if_moved(row, word, allowed=allowed)
        return {"decision_id": write_word(row, word), "action": word.action}

    with ledger_transaction():
        return once(command_id, f"{word.action} {word.proposal}", word.actor, work)


def checked_until(until_at: datetime | None) -> datetime | None:
    """Return the end of a snooze, at most 90 days ahead; None means the rule's seven days."""
    at = happened("until_at", until_at)
    if at is None:
        return None
    now = database_now()
    if not now < at <= now + LONGEST_SNOOZE:
        refuse("until_at", at, "a time within the next 90 days")
    return at
