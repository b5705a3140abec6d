"""Automatic approval of price proposals, for items with `price_mode = auto`.

`why_not` has the conditions of docs/domain.md 6.4 and 7. Examples: the change is within the item's
limit, and the stock figures are at most 60 s old. The job checks the conditions twice, because a
person may change the policy between the first check and the approval. The second check is under
the locks of the approval.
"""

import time
from collections.abc import Sequence
from typing import Final, NamedTuple

import structlog

from cdc.contracts.partition import partition_of
from cdc.contracts.topics import ON_HAND_CHANGELOG
from inventory.pricing.signals import BELOW_FLOOR
from inventory.pricing.targets import floor_minor
from ledger.items.service import locked_item
from ledger.kernel.pipeline import LIFE, OLDEST_US, is_stale
from ledger.kernel.proposal_rows import PRICES, locked_proposal
from ledger.kernel.rows import select
from ledger.kernel.sink_positions import as_of_by_partition
from ledger.kernel.transactions import database_now, ledger_transaction
from ledger.messages import gettext_noop
from ledger.pricing.prices import next_window_start
from ledger.pricing.stop import refuse_while_killed
from ledger.services import LedgerError, approve_price

SETTLED_US: Final = 60_000_000
ALWAYS_A_PERSON: Final = BELOW_FLOOR

_OPEN: Final = f"""
WITH {LIFE}
SELECT p.proposal_id, p.inv_key, p.revision, p.signal, p.old_minor, p.new_minor,
       (extract(epoch FROM p.updated_at) * 1000000)::bigint AS settled_since_us,
       i.price_mode, i.auto_permille, i.cost_minor, i.margin_permille, i.tax_bp,
       setting.price_kill_switch AS is_stopped,
       EXISTS (
           SELECT FROM retail.price_change AS written
           WHERE written.inv_key = p.inv_key AND written.kind = 'rule'
             AND (written.effective_from AT TIME ZONE 'UTC')::date
                 = (greatest(to_timestamp(p.effective_at_us / 1000000), %(next_window)s)
                    AT TIME ZONE 'UTC')::date
       ) AS has_rule_price_that_day,
       life.age_us AS pipeline_age_us
FROM life CROSS JOIN app.price_proposal AS p
JOIN retail.item_location AS i ON i.inv_key = p.inv_key
CROSS JOIN app.setting AS setting
WHERE p.status = 'open' AND coalesce(p.decided_action, '') NOT IN ('approve', 'reject', 'snooze')
"""  # noqa: S608 -- a constant of this project
_CANDIDATES: Final = _OPEN + " AND i.price_mode = 'auto' ORDER BY p.proposal_id"
_NAMED: Final = _OPEN + " AND p.proposal_id = ANY(%(proposals)s)"

log = structlog.get_logger(__name__)


class Candidate(NamedTuple):
    """An open proposal with the values that the conditions compare.

    `*_minor` are minor units of the currency. `settled_since_us` is a time in microseconds since
    1970 UTC. `tax_bp` is in hundredths of a percent. `pipeline_age_us` is an age in microseconds,
    None if a heartbeat is missing.
    """

    proposal_id: str
    inv_key: str
    revision: int
    signal: str
    old_minor: int
    new_minor: int
    settled_since_us: int
    price_mode: str
    auto_permille: int
    cost_minor: int
    margin_permille: int
    tax_bp: int
    is_stopped: bool
    has_rule_price_that_day: bool
    pipeline_age_us: int | None


def why_not(candidate: Candidate, *, now_us: int, as_of_us: int | None) -> str | None:
    """Return the first condition that fails, as a clause for people, or None if all are met.

    While a condition fails, the job doesn't approve the proposal. `now_us` and `as_of_us` are
    microseconds since 1970 UTC. `as_of_us` is the as-of time of the key's partition in the read
    model, None if unknown.
    """
    change = abs(candidate.new_minor - candidate.old_minor) * 1000
    lowest = floor_minor(candidate.cost_minor, candidate.margin_permille, candidate.tax_bp)
    objections = (
        (
            candidate.price_mode != "auto",
            gettext_noop("a person has to approve each price of this item"),
        ),
        (
            candidate.signal == ALWAYS_A_PERSON,
            gettext_noop("the price is below its floor, so a person has to approve the change"),
        ),
        (
            change > candidate.auto_permille * candidate.old_minor,
            gettext_noop("the change is larger than the largest automatic change of this item"),
        ),
        (
            candidate.new_minor < lowest,
            gettext_noop("the price floor has risen and is now above the proposed price"),
        ),
        (
            candidate.has_rule_price_that_day,
            gettext_noop(
                "the rules have already set a price for the day on which the proposed price would "
                "start"
            ),
        ),
        (candidate.is_stopped, gettext_noop("rule-made prices are stopped")),
        (
            now_us - candidate.settled_since_us < SETTLED_US,
            gettext_noop("the proposal has changed within the last minute"),
        ),
        (
            as_of_us is None or now_us - as_of_us > OLDEST_US,
            gettext_noop("the stock figures of the item are missing or more than 60 s old"),
        ),
        (
            is_stale(candidate.pipeline_age_us),
            gettext_noop("a partition has had no heartbeat for 60 s: the stock figures may be old"),
        ),
    )
    return next((why for objects, why in objections if objects), None)


def write_due(*, limit: int = 200) -> int:
    """Approve up to `limit` proposals that meet every condition; return the number of approvals.

    A proposal is skipped if a person or another process decides on it first.
    """
    due = [candidate for candidate, why in _judged(_CANDIDATES) if why is None]
    written = 0
    for candidate in due:
        written += _write(candidate)
        if written >= limit:
            break
    return written


def objections_to(proposals: list[str]) -> dict[str, str]:
    """Return, by proposal id, the reason why each open proposal of `proposals` isn't approved yet.

    The reason is a clause for people.
    """
    return {
        candidate.proposal_id: why or gettext_noop("the rules will write the price within seconds")
        for candidate, why in _judged(_NAMED, proposals)
    }


def _judged(sql: str, proposals: Sequence[str] = ()) -> list[tuple[Candidate, str | None]]:
    """Return the candidates that `sql` selects, each with the first condition that it fails.

    The condition is a clause for people, None if the candidate may be approved.
    """
    # A price that is written now starts at this time or later.
    begins = next_window_start(database_now())
    found = select(sql, {"next_window": begins, "proposals": list(proposals)}, Candidate)
    known = as_of_by_partition(ON_HAND_CHANGELOG)
    now_us = time.time_ns() // 1000

    def why(candidate: Candidate) -> str | None:
        as_of_us = known.get(partition_of(candidate.inv_key.encode()))
        return why_not(candidate, now_us=now_us, as_of_us=as_of_us)

    return [(candidate, why(candidate)) for candidate in found]


def _write(candidate: Candidate) -> int:
    location, _, sku = candidate.inv_key.partition("|")
    try:
        with ledger_transaction():
            locked_proposal(PRICES, candidate.proposal_id)
            # Lock the kill switch before the item, as `set_price_kill_switch` does, so that the two
            # can't deadlock.
            refuse_while_killed()
            locked_item(location=location, sku=sku)
            if [why for _, why in _judged(_NAMED, [candidate.proposal_id])] != [None]:
                return 0
            approve_price(proposal_id=candidate.proposal_id, shown_revision=candidate.revision)
    except LedgerError as refusal:
        log.info("price_not_written", proposal=candidate.proposal_id, why=str(refusal))
        return 0
    return 1
