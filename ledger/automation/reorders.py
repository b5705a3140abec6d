"""Automatic approval of reorder needs, by the rules of docs/domain.md 7.

Two processes may run this job at once. Each process locks the needs and checks them a second time
under the lock. Approving a need that is already ordered orders nothing.
"""

from collections.abc import Sequence
from itertools import groupby

import structlog

from ledger.kernel.transactions import execute, fetch_column, ledger_transaction
from ledger.reorders.approval_plans import MOST_AT_ONCE
from ledger.reorders.approvals import ApproveReorder, NotOrdered, Ordered
from ledger.reorders.automatic import Case, cases_that_policy_allows, reasons_to_wait
from ledger.reorders.service import approve_automatically

MOST_A_CALL = 200

log = structlog.get_logger(__name__)


def approve_due(*, limit: int = MOST_A_CALL) -> int:
    """Order the needs that meet every condition, and send the orders; return the number of needs.

    A need is a proposed reorder of one item. A group is all needs of one supplier and location that
    meet every condition. Only complete groups are ordered, because a part of a group could be below
    the supplier's minimum. At most `limit` needs are ordered, but the first group is ordered even
    if it is larger. Of a group with more than 500 needs, one call orders 500.
    """
    # Check without locks first: most calls find nothing, and locks would block other transactions.
    if not _due(limit):
        return 0
    with ledger_transaction():
        locked = {case.reorder_id for case in _due(limit)}
        _lock(sorted(locked))
        # Skip needs that appeared meanwhile: locking such a need now would break the lock order.
        due = [case for case in _due(limit) if case.reorder_id in locked]
        if not due:
            return 0
        done = approve_automatically(
            [ApproveReorder(case.reorder_id, case.revision) for case in due]
        )
    ordered = [outcome for outcome in done if isinstance(outcome, Ordered)]
    orders = sorted({outcome.order_ref for outcome in ordered})
    log.info("reorders_approved", lines=len(ordered), orders=orders)
    for outcome in done:
        if isinstance(outcome, NotOrdered):
            log.warning("reorder_waits", reorder=outcome.reorder_id, reason=outcome.reason)
    return len(ordered)


def _due(limit: int) -> list[Case]:
    """Return needs without a reason to wait, in complete groups of one supplier and location."""
    cases = cases_that_policy_allows()
    waiting = reasons_to_wait(cases)
    free = [case for case in cases if not waiting[case.reorder_id]]
    free.sort(key=_by_group)
    taken: list[Case] = []
    for _, group in groupby(free, key=lambda case: case.group):
        members = list(group)
        if taken and len(taken) + len(members) > limit:
            break
        taken += members
    return taken[:MOST_AT_ONCE]


def _by_group(case: Case) -> tuple[str, ...]:
    return (*map(str, case.group), case.reorder_id)


def _lock(reorder_ids: Sequence[str]) -> None:
    """Lock the needs by id, then their items by key; every approval uses this lock order."""
    keys = fetch_column(
        "SELECT inv_key FROM app.reorder_proposal WHERE reorder_id = ANY(%s)"
        " ORDER BY reorder_id FOR UPDATE",
        sorted(reorder_ids),
    )
    execute(
        "SELECT id FROM retail.item_location WHERE inv_key = ANY(%s) ORDER BY inv_key FOR SHARE",
        sorted(set(keys)),
    )
