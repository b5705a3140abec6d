"""Seed the demo retailer through the services: replayed history, then the switch to live.

While history is written, `clock_mode` is replayed: the clock follows the times in the facts
(docs/domain.md 3.1). Then one update per key switches to live mode, in which the clock is the
commit time. A warehouse key without facts in the history is in live mode from the beginning.
"""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta

from bench.retailer.catalogue import STORES, WAREHOUSES, Item, suppliers
from bench.retailer.codes import codes
from bench.retailer.demo_history import chunks, write_history
from bench.retailer.history import plan_history
from bench.retailer.history_values import History
from bench.retailer.retailer import HISTORY_DAYS, PlannedKey, plan, policy, size_named
from ledger.kernel.transactions import database_now, fetch_value, ledger_transaction
from ledger.services import (
    FirstPrice,
    RangedItem,
    name_codes,
    name_locations,
    name_products,
    name_suppliers,
    range_items,
    set_first_prices,
    set_policies,
)

Progress = Callable[[str], None]


def is_seeded() -> bool:
    """Return True if the demo retailer is complete: the last step of seeding makes keys live."""
    found: bool = fetch_value(
        "SELECT EXISTS (SELECT FROM retail.item_location"
        " WHERE location = ANY(%s) AND clock_mode = 'live' AND replenish_family <> 'off')",
        list(STORES),
    )
    return found


def seed_demo(
    *,
    seed: int = 1,
    size: str = "demo",
    midnight: datetime | None = None,
    progress: Progress | None = None,
) -> bool:
    """Write the retailer once; return False if it exists. An interrupted run continues.

    The history ends at `midnight`, by default at the result of `history_ends`. Equal seed, size
    and midnight give equal facts.
    """
    if is_seeded():
        return False
    report = progress or (lambda _: None)
    ends = midnight or history_ends()
    items, keys = plan(seed, size_named(size))
    history = plan_history(seed, ends, keys)
    size_text = f"{len(items)} items, {len(STORES)} stores, {len(keys)} item-locations"
    report(f"demo retailer: {size_text}")
    _write_names(items, seed)
    _range(keys, history, ends)
    report("policies, opening counts and first prices are written")
    write_history(history, f"demo:{seed}:{size}")
    tally = history.tally
    report(
        f"history of {HISTORY_DAYS} days: {tally.sale_lines} sale lines, {tally.transfers}"
        f" transfers, {tally.orders} orders, {tally.counts} counts ({tally.variances} with a"
        f" variance); {tally.units_lost} units not sold because the shelf was empty,"
        f" {tally.thefts} stolen"
    )
    _go_live(keys)
    report("the items of the demo retailer are live")
    return True


def history_ends() -> datetime:
    """Return the midnight that ends the history.

    If an earlier run has written the opening counts, return the midnight of that run. Otherwise,
    return the last midnight.
    """
    written: datetime | None = fetch_value(
        "SELECT max(occurred_at) FROM retail.stock_count"
        " WHERE kind = 'opening' AND location = ANY(%s)",
        [*STORES],
    )
    if written is not None:
        return written + timedelta(days=HISTORY_DAYS)
    return database_now().replace(hour=0, minute=0, second=0, microsecond=0)


def _write_names(items: list[Item], seed: int) -> None:
    name_suppliers(names={code: supplier.name for code, supplier in suppliers(seed).items()})
    name_locations(names={store: store.split("-")[0].title() for store in STORES})
    name_locations(names=WAREHOUSES, kind="warehouse")
    by_department: dict[str, dict[str, str]] = defaultdict(dict)
    for item in items:
        by_department[item.department][item.sku] = item.name
    for department, names in by_department.items():
        name_products(names=names, department=department)
    name_codes(codes(items, seed))


def _range(keys: list[PlannedKey], history: History, ends: datetime) -> None:
    begins = ends - timedelta(days=HISTORY_DAYS)
    moved = _moved(history)
    for chunk in chunks([key for key in keys if key.is_store or key.inv_key in moved]):
        _range_chunk(chunk, history, begins, policy)
    for chunk in chunks([key for key in keys if not key.is_store and key.inv_key not in moved]):
        _range_chunk(chunk, history, ends - timedelta(hours=2), _live_policy)


def _moved(history: History) -> set[str]:
    """Return the keys that have an outgoing transfer, an order or a count in the history."""
    days = history.days.values()
    sent = {f"{row.source}|{row.sku}" for day in days for row in day.transfers}
    bought = {f"{row.location}|{row.sku}" for day in days for row in day.orders}
    counted = {f"{row.location}|{row.sku}" for day in days for row in day.counts}
    return sent | bought | counted


def _range_chunk(
    keys: list[PlannedKey],
    history: History,
    counted_at: datetime,
    policy_of: Callable[[PlannedKey], dict[str, object]],
) -> None:
    ranged = [
        RangedItem(key.location, key.item.sku, policy_of(key), history.openings[key.inv_key])
        for key in keys
    ]
    # One transaction, so that every ranged item has its price even after an interrupted run.
    with ledger_transaction():
        if range_items(items=ranged, occurred_at=counted_at):
            sold = [key for key in keys if key.is_store]
            set_first_prices(prices=[_first_price(key, counted_at) for key in sold])


def _first_price(key: PlannedKey, since: datetime) -> FirstPrice:
    item = key.item
    return FirstPrice(key.location, item.sku, item.regular_minor, item.floor_minor, since)


def _live_policy(key: PlannedKey) -> dict[str, object]:
    return policy(key) | {"clock_mode": "live", "replenish_family": key.family}


def _go_live(keys: list[PlannedKey]) -> None:
    """Switch all keys to live mode in one transaction.

    One transaction is needed, because `is_seeded` returns True as soon as one key is live.
    """
    modes: dict[tuple[bool, str, str], list[str]] = defaultdict(list)
    for key in keys:
        modes[key.is_store, key.family, key.price_mode].append(key.inv_key)
    with ledger_transaction():
        for (_, family, price_mode), members in sorted(modes.items()):
            set_policies(
                keys=_replayed(members),
                changes={
                    "clock_mode": "live",
                    "replenish_family": family,
                    "price_mode": price_mode,
                    "reviewed_at": database_now(),
                },
            )


def _replayed(keys: list[str]) -> list[str]:
    found: list[str] | None = fetch_value(
        "SELECT array_agg(inv_key ORDER BY inv_key) FROM retail.item_location"
        " WHERE inv_key = ANY(%s) AND clock_mode = 'replayed'",
        keys,
    )
    return found or []
