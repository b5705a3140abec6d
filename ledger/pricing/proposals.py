"""Decisions on price proposals; an approval also writes the price."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from cdc.contracts.times import moment_of
from ledger.items.service import locked_item
from ledger.kernel import checks
from ledger.kernel.idempotency import run_command
from ledger.kernel.proposal_rows import PRICES, locked_proposal
from ledger.kernel.proposals import (
    Decision,
    checked_until,
    decide,
    refuse_if_moved,
    write_decision,
)
from ledger.kernel.transactions import database_now
from ledger.kernel.unscoped_rows import read_one
from ledger.pricing.prices import Price, next_window_start, write_price
from ledger.pricing.stop import refuse_while_killed


@dataclass(frozen=True, slots=True)
class PriceWritten:
    """The price that this approval wrote, in minor units."""

    price_id: int
    price_minor: int
    effective_from: datetime


@dataclass(frozen=True, slots=True)
class PriceWrittenBefore:
    """The price that an earlier approval of the proposal wrote; the new approval wrote nothing."""

    price_id: int
    price_minor: int
    effective_from: datetime


@dataclass(frozen=True, slots=True)
class _Approval:
    """The stored result of an approval; `effective_from` is in ISO 8601."""

    price_id: int
    price_minor: int
    effective_from: str
    repeated: bool


def approve_price(
    *,
    proposal_id: str,
    shown_revision: int,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> PriceWritten | PriceWrittenBefore:
    """Approve a proposal and write its price, in one transaction; return the price.

    The price starts at the proposed start time, or with the next window if that is later. If the
    proposal was approved before, write nothing and return the price that the earlier approval
    wrote.

    Raises:
        ServiceError: the price is below the item's floor.
        Conflict: the proposal is closed or has another revision, or the kill switch is on.
    """
    decision = Decision(PRICES, proposal_id, "approve", shown_revision, actor)

    def work() -> _Approval:
        row = locked_proposal(PRICES, proposal_id)
        if row.decided_action == "approve":
            return _approval(proposal_id, repeated=True)
        refuse_if_moved(row, decision, allowed=("open",))
        refuse_while_killed()
        item = locked_item(location=row.location, sku=row.sku)
        begins = max(moment_of(row.effective_at_us), next_window_start(database_now()))
        price = Price(row.new_minor, row.step, "rule", begins, proposal_id)
        # Insert the price before the decision, so that the record of the price comes first in the
        # log and closes the proposal as accepted. If the proposed start time is 48 h ago or more,
        # the record of the decision would close the proposal as expired.
        write_price(item, price, actor=actor)
        write_decision(row, decision)
        return _approval(proposal_id, repeated=False)

    done = run_command(
        command_id, f"approve {proposal_id}", actor, work, _Approval, content=proposal_id
    )
    begins = datetime.fromisoformat(done.effective_from)
    if done.repeated:
        return PriceWrittenBefore(done.price_id, done.price_minor, begins)
    return PriceWritten(done.price_id, done.price_minor, begins)


def _approval(proposal_id: str, *, repeated: bool) -> _Approval:
    """Return the result of an approval, from the price that was written for the proposal."""
    price = read_one(
        PriceWritten,
        "SELECT id AS price_id, price_minor, effective_from FROM retail.price_change"
        " WHERE proposal_id = %s",
        proposal_id,
    )
    if price is None:
        message = f"{proposal_id} is approved, but retail.price_change has no row with its id"
        raise LookupError(message)
    begins = price.effective_from.isoformat()
    return _Approval(price.price_id, price.price_minor, begins, repeated)


def reject_price(
    *,
    proposal_id: str,
    shown_revision: int,
    reason: str,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Reject a proposal; return the decision's id.

    The rules then propose no price for the item until the cool-down in the item's policy has
    passed, for example 168 hours.
    """
    given = checks.text("reason", reason, longest=checks.LONGEST_REASON)
    decision = Decision(PRICES, proposal_id, "reject", shown_revision, actor, None, given)
    return decide(decision, allowed=("open",), command_id=command_id, content=reason)


def snooze_price(
    *,
    proposal_id: str,
    shown_revision: int,
    until_at: datetime | timedelta | None = None,
    reason: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Snooze a proposal; return the decision's id.

    The proposal closes, and the rules propose no price for the item until `until_at`. With None,
    they propose none until the cool-down in the item's policy has passed.
    """
    until = checked_until(until_at)
    decision = Decision(PRICES, proposal_id, "snooze", shown_revision, actor, until, reason)
    content = (until_at, reason)
    return decide(decision, allowed=("open",), command_id=command_id, content=content)
