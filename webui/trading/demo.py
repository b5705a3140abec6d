"""Writes the demo retailer through the services: history on its own calendar, then live.

History is written with `clock_mode` replayed, so that its days count as days; the switch to live is
one update per key, and from there commit time is the clock (docs/domain.md 3.1).
"""

from collections import defaultdict
from collections.abc import Callable
from datetime import datetime, timedelta

from webui.ledger.services import (
    FirstPrice,
    RangedItem,
    approve_count,
    name_locations,
    name_products,
    name_suppliers,
    range_items,
    set_first_prices,
    set_policies,
)
from webui.ledger.services.transactions import database_now, fetch_value, ledger_transaction
from webui.trading.demo_history import chunks, write_history
from webui.trading.retailer import (
    HISTORY_DAYS,
    MARGIN_PERMILLE,
    STORES,
    SUPPLIERS,
    TAX_BP,
    WAREHOUSE,
    Item,
    PlannedKey,
    plan,
)

Say = Callable[[str], None]


def is_seeded() -> bool:
    """Whether the demo retailer is there and live."""
    found: bool = fetch_value(
        "SELECT EXISTS (SELECT FROM retail.item_location"
        " WHERE location = %s AND clock_mode = 'live')",
        WAREHOUSE,
    )
    return found


def seed_demo(*, seed: int = 1, progress: Say | None = None) -> bool:
    """Write the retailer once; False when it is there already. An interrupted run goes on."""
    if is_seeded():
        return False
    say = progress or (lambda _: None)
    midnight = database_now().replace(hour=0, minute=0, second=0, microsecond=0)
    items, keys = plan(seed, midnight)
    say(f"demo retailer: {len(items)} items, {len(keys)} item-locations")
    _write_names(items)
    opened_at = midnight - timedelta(days=HISTORY_DAYS)
    _range(keys, opened_at)
    say("ranged, counted and priced")
    lines = write_history(keys, seed)
    _write_counts(keys)
    say(f"history of {HISTORY_DAYS} days: {lines} sale lines")
    _go_live(keys)
    say("live")
    return True


def _write_names(items: list[Item]) -> None:
    name_suppliers(names=SUPPLIERS)
    name_locations(names={store: store.split("-")[0].title() for store in STORES})
    name_locations(names={WAREHOUSE: "Warehouse 1"})
    name_products(names={item.sku: item.name for item in items})


def _range(keys: list[PlannedKey], opened_at: datetime) -> None:
    for chunk in chunks(keys):
        ranged = [RangedItem(k.location, k.item.sku, _policy(k), k.opening_units) for k in chunk]
        # Together or not at all: a run that was interrupted finds every ranged item priced.
        with ledger_transaction():
            if range_items(items=ranged, occurred_at=opened_at):
                set_first_prices(prices=[_first_price(key, opened_at) for key in chunk])


def _first_price(key: PlannedKey, opened_at: datetime) -> FirstPrice:
    item = key.item
    return FirstPrice(key.location, item.sku, item.regular_minor, item.floor_minor, opened_at)


def _policy(key: PlannedKey) -> dict[str, object]:
    """The policy with decisions still off: history decides nothing."""
    return {
        "clock_mode": "replayed",
        "replenish_family": "off",
        "price_mode": "off",
        "levels": key.levels,
        "reorder_point_units": key.reorder_point_units,
        "order_up_to_units": key.order_up_to_units,
        "lead_time_centidays": 500,
        "lead_time_sd_centidays": 100,
        "cycle_centidays": 700,
        "safety_method": "service" if key.levels == "computed" else "fixed",
        "service_z_micro": 1_644_854,
        "supplier": key.item.supplier,
        "cost_minor": key.item.cost_minor,
        "pack_units": key.item.pack_units,
        "regular_minor": key.item.regular_minor,
        "margin_permille": MARGIN_PERMILLE,
        "tax_bp": TAX_BP,
        "endings": [49, 99],
    }


def _write_counts(keys: list[PlannedKey]) -> None:
    for key in keys:
        if key.count is not None:
            at, units = key.count
            approve_count(location=key.location, sku=key.item.sku, units=units, occurred_at=at)


def _go_live(keys: list[PlannedKey]) -> None:
    modes: dict[tuple[str, str], list[str]] = defaultdict(list)
    for key in keys:
        modes[key.family, key.price_mode].append(key.inv_key)
    for (family, price_mode), members in sorted(modes.items()):
        set_policies(
            keys=members,
            changes={
                "clock_mode": "live",
                "replenish_family": family,
                "price_mode": price_mode,
                "reviewed_at": database_now(),
            },
        )
