"""Incidents that people find on the demo's pages, written after the demo's history.

* A handheld was offline for five days and sends two counts. The workers reject them with reason
  `count_beyond_horizon`: only a key's state has the horizon, so no database constraint can
  refuse the counts.
* A supplier has raised the cost of an item on promotion. The item's price is now below its floor,
  so the rules propose a higher price. The regular price after the promotion is already scheduled.
"""

from datetime import datetime, timedelta
from typing import Final

from bench.retailer.buyers import BUYER, PRICING
from bench.retailer.commands import command_id
from bench.retailer.demo import history_ends
from bench.retailer.history import promoted_minor
from bench.retailer.retailer import HISTORY_DAYS, PlannedKey, plan, size_named
from bench.retailer.seasons import Promotion, promotions
from ledger.kernel.transactions import fetch_value, ledger_transaction
from ledger.services import (
    ApproveCount,
    PastPrice,
    approve_count,
    is_past_written,
    keep_past,
    record_past_prices,
    set_policy,
)

HANDHELD_STORE: Final = "LYON-1"
HANDHELD: Final = "handheld-lyon"
COUNTED_BEFORE: Final = timedelta(days=4, hours=3)  # 21:00 of a day before the horizon
COUNTS: Final = 2
LEAST_COUNTED: Final = 3
# Of the first 20 best sellers on promotion, the item with a price closest to its floor is chosen.
BEST_SELLERS: Final = 20
BREACH_PERMILLE: Final = 30  # the new floor is 3 % above the promotion price
_EXPECTED: Final = "SELECT expected_units FROM app.expected_at(%s, %s, 9223372036854775807)"


def begin_morning(*, seed: int = 1, size: str = "demo") -> bool:
    """Write the incidents once; return False if they were written before."""
    name = f"demo:{seed}:morning"
    if is_past_written(name=name):
        return False
    ends = history_ends()
    keys = [key for key in plan(seed, size_named(size))[1] if key.is_store]
    keys.sort(key=lambda key: -key.daily_units)
    with ledger_transaction():
        rows = _send_counts(keys, ends - COUNTED_BEFORE)
        first = (ends - timedelta(days=HISTORY_DAYS)).date()
        for promotion in promotions(seed, first, ends.date()):
            if promotion.is_on(ends.date()):
                rows += _end_promotion(keys, promotion, seed, ends)
        keep_past(name=name, rows=rows, actor=BUYER)
    return True


def _send_counts(keys: list[PlannedKey], at: datetime) -> int:
    """Write two approved counts with business time `at`, each one unit below the recorded stock.

    Return the number of written counts.
    """
    sent = 0
    for key in keys:
        if key.location != HANDHELD_STORE or key.fate != "ordinary" or sent == COUNTS:
            continue
        expected: int = fetch_value(_EXPECTED, key.inv_key, at)
        if expected >= LEAST_COUNTED:
            approve_count(
                ApproveCount(key.location, key.item.sku, expected - 1, occurred_at=at),
                actor=HANDHELD,
                command_id=command_id("handheld", key.inv_key, at),
            )
            sent += 1
    return sent


def _end_promotion(keys: list[PlannedKey], promotion: Promotion, seed: int, ends: datetime) -> int:
    """Schedule the regular prices after a promotion, and raise the cost of one of its items.

    Return the number of written rows.
    """
    reduced = [
        key
        for key in keys
        if key.item.department == promotion.department and promotion.includes(key.item.sku, seed)
    ]
    if not reduced:
        return 0
    until = ends + timedelta(days=(promotion.ends - ends.date()).days)
    prices = [
        PastPrice(key.location, key.item.sku, key.item.regular_minor, key.item.floor_minor, until)
        for key in reduced
    ]
    written = record_past_prices(rows=prices, actor=PRICING)
    dearest = min(
        reduced[:BEST_SELLERS], key=lambda key: promoted_minor(key) * 1000 // key.item.floor_minor
    )
    set_policy(
        location=dearest.location,
        sku=dearest.item.sku,
        changes={"cost_minor": raised_cost_minor(dearest), "price_mode": "advise"},
        actor=BUYER,
    )
    return written + 1


def raised_cost_minor(key: PlannedKey) -> int:
    """Return the cost at which the floor is 3 % above the key's promotion price."""
    item = key.item
    return (
        item.cost_minor
        * promoted_minor(key)
        * (1000 + BREACH_PERMILLE)
        // (item.floor_minor * 1000)
    )
