"""Orders what rules allow without a person (docs/domain.md, purchasing loop).

Two processes may run this at once: the needs are locked before they are judged a second time, and
an approval of a need that is ordered already orders nothing.
"""

from collections.abc import Sequence

import structlog

from webui.ledger.services.reorders import approve_automatically
from webui.ledger.services.reorders_approval import Approval
from webui.ledger.services.reorders_automatic import (
    Case,
    cases_that_policy_allows,
    reasons_to_wait,
)
from webui.ledger.services.transactions import fetch_all, ledger_transaction

MOST_A_CALL = 200

log = structlog.get_logger(__name__)


def approve_due(*, limit: int = MOST_A_CALL) -> int:
    """Approve and send needs that every condition allows, at most `limit`; how many that were."""
    # Without locks first: most calls find nothing, and must not stand in anybody's way.
    if not _due(limit):
        return 0
    with ledger_transaction():
        locked = {case.reorder_id for case in _due(limit)}
        _lock(sorted(locked))
        # A need that came up meanwhile has no lock, and taking it now would break their order.
        due = [case for case in _due(limit) if case.reorder_id in locked]
        if not due:
            return 0
        approvals = [Approval(case.reorder_id, case.revision) for case in due]
        done = approve_automatically(approvals=approvals)
    ordered = [row for row in done if row["refused"] is None and not row["repeated"]]
    orders = sorted({row["order_ref"] for row in ordered})
    log.info("reorders_approved", lines=len(ordered), orders=orders)
    for row in done:
        if row["refused"] is not None:
            log.warning("reorder_waits", reorder=row["reorder_id"], reason=row["refused"])
    return len(ordered)


def _due(limit: int) -> list[Case]:
    """Needs without a reason to wait, group by group."""
    cases = cases_that_policy_allows()
    waiting = reasons_to_wait(cases)
    free = [case for case in cases if not waiting[case.reorder_id]]
    return sorted(free, key=lambda case: (*map(str, case.group), case.reorder_id))[:limit]


def _lock(reorder_ids: Sequence[str]) -> None:
    """Lock needs, then their items, as every approval does."""
    needs = fetch_all(
        "SELECT inv_key FROM app.reorder_proposal WHERE reorder_id = ANY(%s)"
        " ORDER BY reorder_id FOR UPDATE",
        sorted(reorder_ids),
    )
    fetch_all(
        "SELECT id FROM retail.item_location WHERE inv_key = ANY(%s) ORDER BY inv_key FOR SHARE",
        sorted({row["inv_key"] for row in needs}),
    )
