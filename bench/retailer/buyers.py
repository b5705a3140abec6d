"""Simulated buyers and pricing managers that decide proposals.

They call the services that the pages call, under their own actor names. Seed and proposal id
determine each decision. The workers determine which proposals exist.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any, Final, NamedTuple, TypeVar

import structlog

from bench.retailer.commands import command_id
from bench.retailer.shelves import rows
from bench.retailer.tally import Traded
from ledger.kernel.transactions import database_now
from ledger.services import (
    ApproveReorder,
    LedgerError,
    Part,
    approve_price,
    approve_reorder,
    reject_price,
    reject_reorder,
    send_order,
    snooze_reorder,
)
from webui.desks.reorders.table import Wanted, need_page

BUYER: Final = "simulated-buyer"
PRICING: Final = "simulated-pricing"
WORDS: Final = ("approve", "change", "split", "reject", "snooze")
WORD_SHARES: Final = (82, 7, 3, 4, 4)
PRICE_REJECTED_PERCENT: Final = 15
# Simulated buyers leave the first needs of the desk's section *To look at first* to people: at most
# this number of them.
MOST_TO_LOOK_AT: Final = 6

_OPEN_NEEDS: Final = """
SELECT need.reorder_id, need.revision, need.quantity_units, item.pack_units
FROM app.reorder_proposal AS need JOIN retail.item_location AS item USING (inv_key)
WHERE need.status = 'open' AND need.quantity_units IS NOT NULL
  AND (need.decided_at IS NULL
       OR (need.decided_action NOT IN ('approve', 'reject') AND need.decided_at < need.updated_at))
  AND need.updated_at < clock_timestamp() - make_interval(secs => %s)
ORDER BY need.opened_at LIMIT %s
"""
_OWN_DRAFTS: Final = """
SELECT order_ref FROM app.purchase_order AS purchase
WHERE sent_at IS NULL AND opened_by = %s
  AND opened_at < clock_timestamp() - make_interval(secs => %s)
  AND EXISTS (SELECT FROM retail.purchase_order_line AS line
              WHERE line.order_ref = purchase.order_ref AND line.status = 'draft')
ORDER BY number LIMIT %s
"""
# A price below its floor always waits for a person (docs/domain.md 6.1).
_OPEN_PRICES: Final = """
SELECT proposal_id, revision FROM app.price_proposal
WHERE status = 'open' AND signal <> 'below_floor'
  AND (decided_at IS NULL
       OR (decided_action NOT IN ('approve', 'reject') AND decided_at < updated_at))
  AND updated_at < clock_timestamp() - make_interval(secs => %s)
ORDER BY opened_at LIMIT %s
"""

Proposal = TypeVar("Proposal", bound=tuple[Any, ...])

log = structlog.get_logger()


class Habits(NamedTuple):
    """Minimum age of a proposal, decisions per round, and the share left to people.

    Of the needs meant for people, simulated buyers leave at most the newest `most_left`. The same
    limit applies to proposed prices. So the lists don't grow while no person decides.
    """

    patience_s: float
    at_once: int
    left_permille: int
    most_left: int = 12


class Need(NamedTuple):
    """An open reorder proposal as shown on the desk."""

    reorder_id: str
    revision: int
    units: int
    pack: int


def is_left_to_people(proposal: str, habits: Habits) -> bool:
    """Return True if the proposal is meant for people who use the pages; its id decides."""
    random = Random(f"left:{proposal}")  # noqa: S311 -- traffic, not a secret
    return random.randrange(1000) < habits.left_permille


def to_decide(found: Sequence[Proposal], habits: Habits) -> Sequence[Proposal]:
    """Return up to `at_once` proposals for the simulated buyers to decide.

    `found` begins with the oldest proposal. Some proposals are meant for people
    (`is_left_to_people`). The newest `most_left` of them are left out. The older ones come last in
    the result, after all proposals that are not meant for people.
    """
    judged = [(one, is_left_to_people(one[0], habits)) for one in found]
    mine = [one for one, is_left in judged if not is_left]
    left = [one for one, is_left in judged if is_left]
    return [*mine, *left[: max(0, len(left) - habits.most_left)]][: habits.at_once]


def decide_reorders(seed: int, habits: Habits, done: Traded) -> None:
    """Decide open needs, then send the simulated buyer's draft orders. Count both in `done`."""
    # Fetch ten times as many as needed. The query returns the oldest needs, and needs that are left
    # to people stay open, so a short list would soon have no others.
    found = [Need(*row) for row in rows(_OPEN_NEEDS, [habits.patience_s, 10 * habits.at_once])]
    kept = _to_look_at() if habits.left_permille else frozenset()
    for need in to_decide([need for need in found if need.reorder_id not in kept], habits):
        _attempt(done, "reorder", partial(_answer_need, seed, need, done))
    for (order_ref,) in rows(_OWN_DRAFTS, [BUYER, habits.patience_s / 4, habits.at_once]):
        _attempt(done, "send_order", partial(_send, order_ref, done))


def _to_look_at() -> frozenset[str]:
    """Return the ids of needs that a person should look at, among the first six of the desk."""
    page = need_page(Wanted("open"), MOST_TO_LOOK_AT)
    return frozenset(row.reorder_id for row in page.rows if row.attention)


def decide_prices(seed: int, habits: Habits, done: Traded) -> None:
    """Decide open price proposals. Count the decisions in `done`."""
    found = rows(_OPEN_PRICES, [habits.patience_s, 10 * habits.at_once])
    for proposal, revision in to_decide(found, habits):
        _attempt(done, "price", partial(_answer_price, seed, proposal, revision, done))


def _answer_need(seed: int, need: Need, done: Traded) -> None:
    random = Random(f"{seed}:{need.reorder_id}:{need.revision}")  # noqa: S311 -- traffic
    word = random.choices(WORDS, WORD_SHARES)[0]
    by: dict[str, Any] = {
        "actor": BUYER,
        "command_id": command_id(need.reorder_id, need.revision, word),
    }
    given = by | {"reorder_id": need.reorder_id, "shown_revision": need.revision}
    if word == "reject":
        reject_reorder(**given, reason="enough for the season")
        done.rejected += 1
    elif word == "snooze":
        until = database_now() + timedelta(hours=random.randrange(4, 48))
        snooze_reorder(**given, until_at=until, reason="after the delivery")
        done.snoozed += 1
    elif word == "split" and need.units >= 2 * need.pack:
        later = need.units // need.pack // 2 * need.pack
        parts = (Part(need.units - later), Part(later))
        approve_reorder(ApproveReorder(need.reorder_id, need.revision, parts=parts), **by)
        done.approved, done.split = done.approved + 1, done.split + 1
    else:
        units = need.units + random.choice((-1, 1)) * need.pack if word == "change" else need.units
        approve_reorder(ApproveReorder(need.reorder_id, need.revision, max(need.pack, units)), **by)
        done.approved, done.changed = done.approved + 1, done.changed + (word == "change")


def _send(order_ref: str, done: Traded) -> None:
    send_order(order_ref=order_ref, below_minimum_allowed=True, actor=BUYER)
    done.orders_sent += 1


def _answer_price(seed: int, proposal: str, revision: int, done: Traded) -> None:
    random = Random(f"{seed}:{proposal}")  # noqa: S311 -- traffic, not a secret
    given: dict[str, Any] = {
        "proposal_id": proposal,
        "shown_revision": revision,
        "actor": PRICING,
        "command_id": command_id(proposal, revision),
    }
    if random.randrange(100) < PRICE_REJECTED_PERCENT:
        reject_price(**given, reason="keep the shelf price")
        done.prices_rejected += 1
    else:
        approve_price(**given)
        done.prices_approved += 1


def _attempt(done: Traded, kind: str, work: Callable[[], None]) -> None:
    """Execute `work`. If the ledger refuses the command, count and log that, and continue."""
    try:
        work()
    except LedgerError as refusal:
        done.refused += 1
        log.info("simulated_command_refused", kind=kind, error=str(refusal))
