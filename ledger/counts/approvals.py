"""Approval of counts. A draft changes no stock until a person who did not count it approves it.

SQL computes the expected units (`app.expected_at`), so that the page, this service and a reader
with psql get the same number.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from inventory.reports.conditions import is_variance_due, tolerance_units
from ledger.counts.stock_count import LockedCount, locked_count, write_void
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Done, run_command
from ledger.kernel.refusal_text import person
from ledger.kernel.transactions import database_now, execute, log_action
from ledger.kernel.unscoped_rows import read_one
from ledger.messages import Message


@dataclass(frozen=True, slots=True)
class Approved:
    """An approved count, the units expected at its time, and counted minus expected units."""

    count_id: int
    expected_units: int
    variance_units: int


@dataclass(frozen=True, slots=True)
class _Compared:
    """The stored result of an approval: expected units, and counted minus expected units."""

    expected: int
    variance: int


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
        """The name of the person who counted.

        If a count of another system lacks this name, it is the name of the writer.
        """
        return self.counted_by or self.recorded_by

    @property
    def variance_units(self) -> int:
        """The counted units minus the expected ones."""
        return self.units - self.expected_units


def approve_waiting_count(
    *,
    count_id: int,
    actor: str,
    shown_expected_units: int | None = None,
    command_id: UUID | None = None,
) -> Approved:
    """Approve a draft. On-hand becomes its units plus all movements after its time.

    The time of a count is exact to the second.

    Raises:
        ServiceError: no such count, or `actor` has counted it.
        Conflict: the count was approved or voided already, or is older than 48 h. Or a second blind
            count is due, or the expected units differ from `shown_expected_units`.
    """

    def work() -> _Compared:
        count = _with_expected_units(_locked_draft(count_id))
        _refuse_approver(count, actor)
        _refuse_if_moved(count, shown_expected_units)
        _check_second_count(count)
        _approve(count, actor)
        return _Compared(count.expected_units, count.variance_units)

    kind = f"approve_waiting_count {count_id}"
    done = run_command(command_id, kind, actor, work, _Compared, content=count_id)
    return Approved(count_id, done.expected, done.variance)


def refuse_waiting_count(
    *, count_id: int, actor: str, reason: str, command_id: UUID | None = None
) -> None:
    """Void a draft, with a reason of up to 200 characters.

    Raise `Conflict` if it was approved or voided already.
    """
    given = checks.text("reason", reason, longest=checks.LONGEST_REASON)

    def work() -> Done:
        write_void(_locked_draft(count_id), reason=given, actor=actor)
        return Done()

    run_command(command_id, f"refuse_count {count_id}", actor, work, Done, content=reason)


def ask_for_recount(*, count_id: int, actor: str, command_id: UUID | None = None) -> None:
    """Require a second count: this draft can't be approved, and a new count replaces it."""

    def work() -> Done:
        count = _locked_draft(count_id)
        execute("UPDATE retail.stock_count SET recount_asked = true WHERE id = %s", count_id)
        detail = {"count": count_id}
        log_action(actor=actor, action="ask_recount", subject=count.inv_key, detail=detail)
        return Done()

    run_command(command_id, f"ask_recount {count_id}", actor, work, Done, content=count_id)


def _locked_draft(count_id: int) -> LockedCount:
    """Return a draft, locked until the transaction ends; raise `Conflict` for another status."""
    count = locked_count(count_id)
    if count.status == "approved":
        who, units = person(count.approved_by), Message("%(units)s units", units=f"{count.units:,}")
        message = Message(
            "%(who)s has approved count %(count_id)s of %(units)s already, %(write_time)s",
            who=who,
            count_id=count_id,
            units=units,
            write_time=count.write_time,
        )
        raise Conflict(message)
    if count.status == "void":
        again = Message("has refused count %(count_id)s, or has counted again", count_id=count_id)
        message = Message(
            "%(writer)s %(again)s, %(write_time)s, so it no longer counts",
            writer=count.writer,
            again=again,
            write_time=count.write_time,
        )
        raise Conflict(message)
    return count


def _with_expected_units(locked: LockedCount) -> WaitingDraft:
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


def _refuse_approver(count: WaitingDraft, actor: str) -> None:
    if count.counter == actor:
        refuse(
            "actor", actor, "you have counted this yourself, so another person has to approve it"
        )


def _refuse_if_moved(count: WaitingDraft, shown_expected_units: int | None) -> None:
    """Refuse a draft older than 48 h, or one whose expected units have changed."""
    if not checks.is_correctable(count.business_at, database_now()):
        message = Message(
            "count %(id)s is older than 48 h and can't be approved: have the item counted again",
            id=count.id,
        )
        raise Conflict(message)
    if shown_expected_units not in (None, count.expected_units):
        message = Message(
            "%(shown_expected_units)s units were expected when this page was loaded, and "
            "%(expected_units)s are now, because earlier sales or bookings arrived late; "
            "check the difference and approve again",
            shown_expected_units=shown_expected_units,
            expected_units=count.expected_units,
        )
        raise Conflict(message)


def _approve(count: WaitingDraft, actor: str) -> None:
    execute(
        "UPDATE retail.stock_count SET status = 'approved', counted_by = %s, approved_by = %s,"
        " expected_units = %s, recorded_by = %s WHERE id = %s",
        count.counter,
        actor,
        count.expected_units,
        actor,
        count.id,
    )
    units = {"units": count.units, "expected": count.expected_units}
    detail = {"count": count.id, **units, "counted_by": count.counter}
    log_action(actor=actor, action="approve_count", subject=count.inv_key, detail=detail)


def _check_second_count(count: WaitingDraft) -> None:
    """Raise `Conflict` if the draft needs a second count.

    It needs one if a person requested one, or if the variance is above the tolerance of
    max(2, ceil(expected / 10)) units. The tolerance applies to a first count of an item whose stock
    is known (docs/domain.md 8).
    """
    if count.recount_asked:
        message = Message(
            "a second count of %(inv_key)s was requested: have the item counted again",
            inv_key=count.inv_key,
        )
        raise Conflict(message)
    is_first = count.stock_known and count.recount_of is None
    if is_first and is_variance_due(count.units, count.expected_units):
        message = Message(
            "the count differs by %(variance_units)s units, and the tolerance is "
            "%(expected_units)s: a second blind count is needed first",
            variance_units=f"{count.variance_units:+d}",
            expected_units=tolerance_units(count.expected_units),
        )
        raise Conflict(message)
