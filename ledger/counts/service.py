"""Services that write counts and adjustments without an approval, and that void counts.

Pages use `ledger.counts.approvals` and `ledger.counts.adjustments`, which ask for a second person
where the rules require it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from inventory.tables.stock_adjustment import REASONS as ADJUSTMENT_REASONS
from inventory.tables.stock_count import KINDS as COUNT_KINDS
from ledger.access.scope import require_store
from ledger.counts.stock_count import locked_count, write_void
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import Done, Written, run_command
from ledger.kernel.transactions import business_time_or_now, database_now, insert, log_action
from ledger.messages import Message

LONGEST_NOTE: Final = 500


@dataclass(frozen=True, slots=True)
class ApproveCount:
    """A count to write as approved: units on the shelf at `occurred_at`, where None means now."""

    location: str
    sku: str
    units: int
    kind: str = "cycle"
    occurred_at: datetime | None = None

    def check(self) -> str:
        """Return the checked `inv_key`; raise `ServiceError` with the field that breaks a rule."""
        inv_key = checks.key(self.location, self.sku)
        checks.integer("units", self.units)
        checks.one_of("kind", self.kind, COUNT_KINDS)
        return inv_key


@dataclass(frozen=True, slots=True)
class Adjust:
    """A correction of stock by `quantity_units` (1 or more); `occurred_at` None means now.

    The reason decides whether units are added to or removed from on-hand and unavailable stock
    (docs/domain.md 2.3). `note` is for the person who approves the correction; the audit
    log keeps it.
    """

    location: str
    sku: str
    reason: str
    quantity_units: int
    occurred_at: datetime | None = None
    note: str = ""

    def check(self) -> str:
        """Return the checked `inv_key`; raise `ServiceError` with the field that breaks a rule."""
        checks.one_of("reason", self.reason, ADJUSTMENT_REASONS)
        checks.integer("quantity_units", self.quantity_units, 1)
        checks.check_business_time("occurred_at", self.occurred_at)
        if len(self.note) > LONGEST_NOTE:
            refuse(
                "note",
                self.note[:20],
                Message("at most %(longest_note)s characters of text", longest_note=LONGEST_NOTE),
            )
        require_store(self.location)
        return checks.key(self.location, self.sku)


def approve_count(
    command: ApproveCount, *, actor: str | None = None, command_id: UUID | None = None
) -> int:
    """Write an approved count; return its id.

    On-hand becomes the counted units plus all later movements.
    """
    inv_key = command.check()

    def work() -> Written:
        count_id = insert(
            "stock_count",
            {
                "inv_key": inv_key,
                "location": command.location,
                "sku": command.sku,
                "units": command.units,
                "kind": command.kind,
                "status": "approved",
                "occurred_at": business_time_or_now("occurred_at", command.occurred_at),
                "recorded_by": actor,
            },
        )
        detail = {"units": command.units, "kind": command.kind, "count": count_id}
        log_action(actor=actor, action="count", subject=inv_key, detail=detail)
        return Written(count_id)

    return run_command(
        command_id, f"approve_count {inv_key}", actor, work, Written, content=command
    ).id


def void_count(
    *, count_id: int, reason: str, actor: str | None = None, command_id: UUID | None = None
) -> None:
    """Void a draft of any age, or an approved count of the last 48 h.

    Pages show the reason (up to 200 characters) beside the count, and the audit log stores it.
    Raise `ServiceError` for an older approved count, `Conflict` for a count that is void already.
    """
    given = checks.text("reason", reason, longest=checks.LONGEST_REASON)

    def work() -> Done:
        count = locked_count(count_id)
        if count.status == "void":
            message = Message(
                "%(writer)s has made count %(count_id)s void already, %(write_time)s",
                writer=count.writer,
                count_id=count_id,
                write_time=count.write_time,
            )
            raise Conflict(message)
        is_fresh = checks.is_correctable(count.business_at, database_now())
        if count.status == "approved" and not is_fresh:
            refuse("count_id", count_id, "a count older than 48 h can't be made void: count again")
        write_void(count, reason=given, actor=actor)
        return Done()

    run_command(command_id, f"void_count {count_id}", actor, work, Done, content=reason)


def adjust(command: Adjust, *, actor: str | None = None, command_id: UUID | None = None) -> int:
    """Book a correction of any value; return its id.

    Pages use `request_adjustment`, which asks for an approval above the value limit.
    """
    inv_key = command.check()

    def work() -> Written:
        return Written(book_adjustment(command, actor))

    return run_command(command_id, f"adjust {inv_key}", actor, work, Written, content=command).id


def book_adjustment(command: Adjust, actor: str | None) -> int:
    """Write an adjustment and its audit entry, in the caller's transaction; return its id."""
    inv_key = command.check()
    adjustment_id = insert(
        "stock_adjustment",
        {
            "inv_key": inv_key,
            "location": command.location,
            "sku": command.sku,
            "reason": command.reason,
            "quantity_units": command.quantity_units,
            "occurred_at": business_time_or_now("occurred_at", command.occurred_at),
            "recorded_by": actor,
        },
    )
    detail: dict[str, object] = {"reason": command.reason, "units": command.quantity_units}
    detail |= {"adjustment": adjustment_id}
    if command.note:
        detail |= {"note": command.note}
    log_action(actor=actor, action="adjust", subject=inv_key, detail=detail)
    return adjustment_id
