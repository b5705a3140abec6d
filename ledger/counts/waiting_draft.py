"""Drafts of counts that wait for approval, with the units expected at their time."""

from dataclasses import dataclass
from datetime import datetime

from ledger.counts.stock_count import LockedCount, locked_count
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.refusal_text import person
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message
from ledger.nouns import counted


@dataclass(frozen=True, slots=True)
class WaitingDraft:
    """A locked draft and the units expected at its time.

    `stock_known` is False if the item has no earlier approved count.
    """

    id: int
    inv_key: str
    units: int
    business_at: datetime
    expected_units: int
    stock_known: bool
    recount_asked: bool
    recount_of: int | None
    counted_by: str | None
    recorded_by: str | None

    @property
    def counter(self) -> str | None:
        """The name of the person who counted, or else the account that recorded the count.

        Another system may send a count without this name.
        """
        return self.counted_by or self.recorded_by

    @property
    def variance_units(self) -> int:
        """The counted units minus the expected units."""
        return self.units - self.expected_units


def locked_draft(count_id: int) -> LockedCount:
    """Return a draft count, locked until the transaction ends.

    Raise `ServiceError` for an unknown id, `Conflict` for a count that is approved or void.
    """
    count = locked_count(count_id)
    if count.status == "approved":
        who, units = person(count.approved_by), counted(count.units, "unit")
        message = Message(
            "%(who)s has approved count %(count_id)s already: %(units)s, %(write_time)s",
            who=who,
            count_id=count_id,
            units=units,
            write_time=count.write_time,
        )
        raise Conflict(message)
    if count.status == "void":
        message = Message(
            "%(writer)s has refused count %(count_id)s, or has counted the item again, "
            "%(write_time)s. So this count needs no decision any more",
            writer=count.writer,
            count_id=count_id,
            write_time=count.write_time,
        )
        raise Conflict(message)
    return count


def with_expected_units(locked: LockedCount) -> WaitingDraft:
    """Return the draft with the units expected at its time."""
    # A new statement sees facts that were committed while `locked_count` waited for its lock.
    count = read_one(
        WaitingDraft,
        "SELECT c.*, t.at AS business_at, e.expected_units, e.stock_known"
        " FROM retail.stock_count c,"
        " LATERAL (SELECT retail.business_at(c.occurred_at, c.recorded_at) AS at) t,"
        " LATERAL app.expected_at(c.inv_key, t.at, c.id) e WHERE c.id = %s",
        locked.id,
    )
    if count is None:
        refuse("count_id", locked.id, "no such count")
    return count
