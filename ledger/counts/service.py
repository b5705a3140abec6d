"""Counts and adjustments: what people counted, and what they booked."""

from datetime import datetime
from uuid import UUID

from inventory.tables.parsing import ADJUSTMENT_REASONS, COUNT_KINDS
from ledger.access.scope import require_key, require_store
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.transactions import (
    Row,
    database_now,
    execute,
    fetch_one,
    happened_or_now,
    insert,
    ledger_transaction,
    log_action,
    once,
)


def approve_count(  # noqa: PLR0913 -- one keyword per column
    *,
    location: str,
    sku: str,
    units: int,
    kind: str = "cycle",
    occurred_at: datetime | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Write an approved count; return its id.

    On-hand is `units` at that second, plus later movements.
    """
    inv_key = checks.key(location, sku)
    checks.whole("units", units)
    checks.one_of("kind", kind, COUNT_KINDS)

    def work() -> Row:
        count_id = insert(
            "stock_count",
            {
                "inv_key": inv_key,
                "location": location,
                "sku": sku,
                "units": units,
                "kind": kind,
                "status": "approved",
                "occurred_at": happened_or_now("occurred_at", occurred_at),
                "recorded_by": actor,
            },
        )
        detail = {"units": units, "kind": kind, "count": count_id}
        log_action(actor=actor, action="count", subject=inv_key, detail=detail)
        return {"id": count_id}

    with ledger_transaction():
        return int(once(command_id, f"approve_count {inv_key}", actor, work)["id"])


def void_count(
    *, count_id: int, reason: str, actor: str | None = None, command_id: UUID | None = None
) -> None:
    """Void a count, draft or approved; an approved one older than 48 h is refused.

    The reason, up to 200 characters, is shown beside the count and stored in the action log.
    """
    given = checks.text("reason", reason, longest=checks.LONGEST_REASON)

    def work() -> Row:
        count = fetch_one(
            "SELECT inv_key, status, retail.business_at(occurred_at, recorded_at) AS at,"
            " recorded_by, recorded_at FROM retail.stock_count WHERE id = %s FOR UPDATE",
            count_id,
        )
        if count is None:
            refuse("count_id", count_id, "no such count")
        require_key(count["inv_key"])
        if count["status"] == "void":
            who, at = person(count["recorded_by"]), moment_text(count["recorded_at"])
            message = f"{who} has made count {count_id} void already, {at}"
            raise Conflict(message)
        is_fresh = checks.is_correctable(count["at"], database_now())
        if count["status"] == "approved" and not is_fresh:
            refuse("count_id", count_id, "a count older than 48 h stays; count again")
        execute(
            "UPDATE retail.stock_count SET status = 'void', recorded_by = %s WHERE id = %s",
            actor,
            count_id,
        )
        detail = {"count": count_id, "was": count["status"], "reason": given}
        log_action(actor=actor, action="void_count", subject=count["inv_key"], detail=detail)
        return {}

    with ledger_transaction():
        once(command_id, f"void_count {count_id}", actor, work)


def adjust(  # noqa: PLR0913 -- one keyword per column
    *,
    location: str,
    sku: str,
    reason: str,
    quantity_units: int,
    occurred_at: datetime | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Book a correction; return its id. The reason decides the bucket and the direction.

    No value limit applies: people use `request_adjustment`, which checks it.
    """

    def work() -> Row:
        return {
            "id": book_adjustment(
                location=location,
                sku=sku,
                reason=reason,
                quantity_units=quantity_units,
                occurred_at=occurred_at,
                actor=actor,
            )
        }

    with ledger_transaction():
        return int(once(command_id, f"adjust {location}|{sku}", actor, work)["id"])


def book_adjustment(
    *,
    location: str,
    sku: str,
    reason: str,
    quantity_units: int,
    occurred_at: datetime | None,
    actor: str | None,
) -> int:
    """Write an adjustment and its log entry, inside a transaction; return its id."""
    inv_key = checks.key(location, sku)
    require_store(location)
    checks.one_of("reason", reason, ADJUSTMENT_REASONS)
    checks.whole("quantity_units", quantity_units, 1)
    adjustment_id = insert(
        "stock_adjustment",
        {
            "inv_key": inv_key,
            "location": location,
            "sku": sku,
            "reason": reason,
            "quantity_units": quantity_units,
            "occurred_at": happened_or_now("occurred_at", occurred_at),
            "recorded_by": actor,
        },
    )
    detail = {"reason": reason, "units": quantity_units, "adjustment": adjustment_id}
    log_action(actor=actor, action="adjust", subject=inv_key, detail=detail)
    return adjustment_id
