"""Approval of counts. A draft count changes no stock until another person approves it.

SQL computes the expected units (`app.expected_at`), so that the page, this service and a reader
with psql get the same number.
"""

from dataclasses import dataclass
from uuid import UUID

from inventory.reports.conditions import is_variance_due, tolerance_units
from ledger.counts.stock_count import write_void
from ledger.counts.waiting_draft import WaitingDraft, locked_draft, with_expected_units
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Done, run_command
from ledger.kernel.transactions import database_now, execute, log_action
from ledger.messages import Message
from ledger.nouns import counted


@dataclass(frozen=True, slots=True)
class Approved:
    """An approved count: its id, its expected units, and its variance (counted minus expected)."""

    count_id: int
    expected_units: int
    variance_units: int


@dataclass(frozen=True, slots=True)
class _Compared:
    """The stored result of an approval: expected units and variance (counted minus expected)."""

    expected: int
    variance: int


def approve_waiting_count(
    *,
    count_id: int,
    actor: str,
    shown_expected_units: int | None = None,
    command_id: UUID | None = None,
) -> Approved:
    """Approve a draft; return its expected units and its variance.

    On-hand becomes the counted units plus all movements after the count. A movement in the same
    second as the count is treated as earlier than the count. `shown_expected_units` are the
    expected units that the approver saw, None for no check.

    Raises:
        ServiceError: no such count, or `actor` has counted it.
        Conflict: the count was approved or voided already, or is older than 48 h. Or a second blind
            count is due, or the expected units differ from `shown_expected_units`.
    """

    def work() -> _Compared:
        count = with_expected_units(locked_draft(count_id))
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

    Raise `Conflict` if the count was approved or voided already.
    """
    given = checks.text("reason", reason, longest=checks.LONGEST_REASON)

    def work() -> Done:
        write_void(locked_draft(count_id), reason=given, actor=actor)
        return Done()

    run_command(command_id, f"refuse_count {count_id}", actor, work, Done, content=reason)


def ask_for_recount(*, count_id: int, actor: str, command_id: UUID | None = None) -> None:
    """Require a second count of the draft's item.

    From then on, the draft can't be approved; the next count of the item replaces it. Raise
    `Conflict` if the draft was approved or voided already.
    """

    def work() -> Done:
        count = locked_draft(count_id)
        execute("UPDATE retail.stock_count SET recount_asked = true WHERE id = %s", count_id)
        detail = {"count": count_id}
        log_action(actor=actor, action="ask_recount", subject=count.inv_key, detail=detail)
        return Done()

    run_command(command_id, f"ask_recount {count_id}", actor, work, Done, content=count_id)


def _refuse_approver(count: WaitingDraft, actor: str) -> None:
    if count.counter == actor:
        refuse(
            "actor",
            actor,
            "you have counted this item yourself, so another person has to approve the count",
        )


def _refuse_if_moved(count: WaitingDraft, shown_expected_units: int | None) -> None:
    """Raise `Conflict` for a draft that is older than 48 h or whose expected units have changed.

    `shown_expected_units` are the expected units that the person saw, None for no check.
    """
    if not checks.is_correctable(count.business_at, database_now()):
        message = Message(
            "count %(id)s is older than 48 h and can't be approved: have the item counted again",
            id=count.id,
        )
        raise Conflict(message)
    if shown_expected_units is not None and shown_expected_units != count.expected_units:
        message = Message(
            "the expected stock was %(shown)s when this page was loaded, and is %(now)s now. "
            "Earlier sales or bookings arrived late. Check the difference and approve again",
            shown=counted(shown_expected_units, "unit"),
            now=f"{count.expected_units:,}",
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

    A draft needs a second count if a person has requested one, or if its variance is above the
    tolerance. The tolerance is max(2, ceil(expected / 10)) units. It applies only to a draft that
    isn't a second count itself, and only if the item's stock is known (docs/domain.md 8).
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
            "the count differs from the expected stock by %(variance)s, more than the tolerance of "
            "%(tolerance_units)s: a second blind count is needed first",
            variance=counted(count.variance_units, "unit", f"{count.variance_units:+d}"),
            tolerance_units=tolerance_units(count.expected_units),
        )
        raise Conflict(message)
