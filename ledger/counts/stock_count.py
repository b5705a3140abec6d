"""Locked rows of `retail.stock_count`, and the change that voids a count."""

from dataclasses import dataclass
from datetime import datetime

from ledger.access.scope import require_key
from ledger.kernel.errors import refuse
from ledger.kernel.row_parts import Stamped
from ledger.kernel.transactions import execute, log_action
from ledger.kernel.unscoped_rows import read_one


@dataclass(frozen=True, slots=True)
class LockedCount(Stamped):
    """One row of `retail.stock_count`; `business_at` is its business time (docs/domain.md 2.1)."""

    id: int
    inv_key: str
    status: str
    units: int
    business_at: datetime
    approved_by: str | None
    recorded_by: str | None
    recorded_at: datetime


def locked_count(count_id: int) -> LockedCount:
    """Return a count of any status, locked until the transaction ends.

    Raise `ServiceError` for an unknown id.
    """
    count = read_one(
        LockedCount,
        "SELECT id, inv_key, status, units,"
        " retail.business_at(occurred_at, recorded_at) AS business_at,"
        " approved_by, recorded_by, recorded_at"
        " FROM retail.stock_count WHERE id = %s FOR UPDATE",
        count_id,
    )
    if count is None:
        refuse("count_id", count_id, "no such count")
    require_key(count.inv_key)
    return count


def write_void(count: LockedCount, *, reason: str, actor: str | None) -> None:
    """Void a locked count; write its earlier status and the reason to the audit log."""
    execute(
        "UPDATE retail.stock_count SET status = 'void', recorded_by = %s WHERE id = %s",
        actor,
        count.id,
    )
    detail = {"count": count.id, "was": count.status, "reason": reason}
    log_action(actor=actor, action="void_count", subject=count.inv_key, detail=detail)
