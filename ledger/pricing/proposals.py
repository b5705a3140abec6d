"""Decisions on price proposals; an approval writes the price, never below its floor."""

from datetime import datetime
from uuid import UUID

from cdc.contracts.times import moment_of
from ledger.items.service import locked_item
from ledger.kernel import checks
from ledger.kernel.proposals import (
    PRICES,
    Word,
    checked_until,
    locked_proposal,
    refuse_if_moved,
    say,
    write_word,
)
from ledger.kernel.transactions import Row, database_now, fetch_one, ledger_transaction, once
from ledger.pricing.prices import Price, next_window_start, refuse_while_killed, write_price


def approve_price(
    *,
    proposal_id: str,
    shown_revision: int,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """Write the proposed price from its time or the next window on, whichever is later.

    Price and decision are one transaction. Returns `{"price_id", "price_minor", "effective_from",
    "repeated"}`; a second approval writes nothing. Refused below the current floor, and while the
    kill switch is on.
    """
    word = Word(PRICES, proposal_id, "approve", shown_revision, actor)

    def work() -> Row:
        row = locked_proposal(PRICES, proposal_id)
        if row["decided_action"] == "approve":
            return _written(proposal_id, is_repeated=True)
        refuse_if_moved(row, word, allowed=("open",))
        refuse_while_killed()
        item = locked_item(location=row["location"], sku=row["sku"])
        begins = max(moment_of(int(row["effective_at_us"])), next_window_start(database_now()))
        price = Price(int(row["new_minor"]), int(row["step"]), "rule", begins, proposal_id)
        # Write the price first: in the log it answers the proposal, even one whose 48 hours end
        # with the next record. A decision before it would be that record.
        write_price(item, price, actor=actor)
        write_word(row, word)
        return _written(proposal_id, is_repeated=False)

    with ledger_transaction():
        return once(command_id, f"approve {proposal_id}", actor, work)


def _written(proposal_id: str, *, is_repeated: bool) -> Row:
    row = fetch_one(
        "SELECT id AS price_id, price_minor, effective_from FROM retail.price_change"
        " WHERE proposal_id = %s",
        proposal_id,
    )
    if row is None:
        message = f"{proposal_id}: approved, but no price carries its id"
        raise LookupError(message)
    row["effective_from"] = row["effective_from"].isoformat()
    return row | {"repeated": is_repeated}


def reject_price(
    *,
    proposal_id: str,
    shown_revision: int,
    reason: str,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """Reject a price; the key gets no proposal for one cool-down."""
    given = checks.text("reason", reason, longest=checks.LONGEST_REASON)
    word = Word(PRICES, proposal_id, "reject", shown_revision, actor, None, given)
    return say(word, allowed=("open",), command_id=command_id)


def snooze_price(
    *,
    proposal_id: str,
    shown_revision: int,
    until_at: datetime | None = None,
    reason: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """Snooze a price until a time, by default for one cool-down."""
    until = checked_until(until_at)
    word = Word(PRICES, proposal_id, "snooze", shown_revision, actor, until, reason)
    return say(word, allowed=("open",), command_id=command_id)
