"""The demo retailer as values: ranged items, their locations and policies.

There are two distribution centres. Each of the 2,400 items belongs to one of them at random, so a
centre holds about half of the items. In the size `tiny`, a centre holds only those of its items
that stores get from it. A store ranges the best sellers of the chain and a sample of the rest. The
size `demo` is small, so that its history is written, captured and folded in a short time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from random import Random
from typing import Final, NamedTuple

from bench.retailer.catalogue import MARGIN_PERMILLE, STORE_SHARES, TAX_BP, Item, catalogue
from inventory.replenishment.families import (
    BASE_STOCK,
    COVER,
    FAMILIES,
    FIXED_LOT,
    MIN_MAX,
    OFF,
    PAR,
    PERIODIC,
    PERIODIC_MIN_MAX,
)
from ledger.services import ServiceError

HISTORY_DAYS: Final = 90
# A warehouse stocks about a month's needs of its stores.
WAREHOUSE_DAYS: Final = 30
LEAD_DAYS_DIRECT: Final = 6
SERVICE_95: Final = 1_644_854
# Replenishment families of the stores' keys, and their shares in per cent: most are min/max.
FAMILIES_DRAWN: Final = (MIN_MAX, PAR, FIXED_LOT, PERIODIC, PERIODIC_MIN_MAX, COVER)
FAMILY_SHARES: Final = (62, 12, 8, 6, 6, 6)
COMPUTED_PERCENT: Final = 40
# Reorder point of a key with computed levels, in days of its demand. The people of the simulated
# history reorder at this point; the rules compute their own reorder point. With 5 to 9 days, as for
# typed levels, most of these keys have a need when the history ends. With 30 days, no key of family
# sS has one.
COMPUTED_DAYS: Final = 14
# Units between reorder point and order-up-to level, in days of demand.
BATCH_DAYS: Final = 21
ADVISED_PERCENT: Final = 15
# Share of the slow keys with too much stock that get advised prices, in per cent. Other slow keys
# get none: one unit of an item that sells twice a year lasts for months, which is no reason to cut
# its price.
ADVISED_SLOW_PERCENT: Final = 25
SLOW_BELOW: Final = 0.35
# Below this demand (units a day), a key's estimate of demand begins with the expected demand and
# follows the sales slowly.
SELDOM_BELOW: Final = 0.1
# Below this demand (units a day) a store keeps one unit on the shelf, and orders the next one when
# that unit is sold.
SOLD_IN_A_MONTH: Final = 1 / 30
# Share of the stores' keys for which rules approve routine needs, in per cent.
AUTOMATIC_PERCENT: Final = 85
AUTOMATIC_MINOR: Final = 40_000  # largest value of such a need, in minor units
# Anomalies of store keys in the history, and their shares in per cent. They are a wrong opening
# count, no reorders in the last weeks, and far too much stock.
FATES: Final = ("miscounted", "forgotten", "too_much", "ordinary")
FATE_SHARES: Final = (3, 1, 4, 92)


class Size(NamedTuple):
    """Items per store, and sale lines per day. Each store ranges the `core_items` best sellers."""

    core_items: int
    items_per_store: int
    daily_lines: int
    is_all_stocked: bool = True  # False: warehouses hold only items that stores get from them


SIZES: Final = {
    "tiny": Size(core_items=4, items_per_store=10, daily_lines=40, is_all_stocked=False),
    "demo": Size(core_items=60, items_per_store=150, daily_lines=440),
    "full": Size(core_items=2_400, items_per_store=2_400, daily_lines=3_600),
}


@dataclass(frozen=True, slots=True)
class PlannedKey:
    """One item at one location.

    `daily_units` is its expected demand, also used for its policy. `fate` is its anomaly in the
    history, for example `miscounted`, or `ordinary`.
    """

    location: str
    item: Item
    daily_units: float
    fate: str
    family: str
    levels: str
    reorder_point_units: int
    order_up_to_units: int
    price_mode: str
    auto_max_minor: int = 0

    @property
    def is_slow(self) -> bool:
        """Return True if the expected demand is below 0.35 units a day."""
        return self.daily_units < SLOW_BELOW

    @property
    def trigger_units(self) -> int:
        """Return the highest inventory position at which people reorder.

        It is the order-up-to level minus 1 for base stock, else the reorder point.
        """
        is_base_stock = FAMILIES[self.family].shape == BASE_STOCK
        return self.order_up_to_units - 1 if is_base_stock else self.reorder_point_units

    @property
    def pack_units(self) -> int:
        """Return the units of a pack; 1 if the warehouse or supplier opens packs for a store."""
        is_opened = self.is_store and (self.is_slow or not self.item.is_direct)
        return 1 if is_opened else self.item.pack_units

    @property
    def inv_key(self) -> str:
        """Return the key `LOCATION|SKU`."""
        return f"{self.location}|{self.item.sku}"

    @property
    def is_store(self) -> bool:
        """Return True for a store, False for a warehouse."""
        return self.location in STORE_SHARES


def size_named(name: str) -> Size:
    """Return the size of that name; raise `ServiceError` if unknown."""
    if name not in SIZES:
        field = "size"
        raise ServiceError(field, name, f"one of {', '.join(SIZES)}")
    return SIZES[name]


def plan(seed: int, size: Size) -> tuple[list[Item], list[PlannedKey]]:
    """Return all items, and the planned keys: first stores' keys, then warehouses' keys."""
    items = catalogue(seed)
    chosen = list(_assortments(seed, items, size))
    shares = sum(item.daily_units * STORE_SHARES[store] for store, item in chosen)
    scale = size.daily_lines / shares
    keys = [
        _store_key(seed, store, item, item.daily_units * STORE_SHARES[store] * scale)
        for store, item in chosen
    ]
    drawn: dict[str, float] = {}
    for key in keys:
        if not key.item.is_direct:
            drawn[key.item.sku] = drawn.get(key.item.sku, 0.0) + key.daily_units
    keys += [
        _warehouse_key(seed, item, drawn.get(item.sku, 0.0))
        for item in items
        if size.is_all_stocked or item.sku in drawn
    ]
    return items, keys


def _assortments(seed: int, items: list[Item], size: Size) -> Iterator[tuple[str, Item]]:
    core, rest = items[: size.core_items], items[size.core_items :]
    for store in STORE_SHARES:
        random = Random(f"{seed}:assortment:{store}")  # noqa: S311 -- a demo, not a secret
        own = random.sample(rest, min(len(rest), size.items_per_store - len(core)))
        yield from ((store, item) for item in (*core, *own))


def _store_key(seed: int, store: str, item: Item, daily: float) -> PlannedKey:
    random = Random(f"{seed}:key:{store}|{item.sku}")  # noqa: S311 -- a demo, not a secret
    family = random.choices(FAMILIES_DRAWN, FAMILY_SHARES)[0]
    is_slow = daily < SLOW_BELOW
    is_computed = bool(family.computed) and random.randrange(100) < COMPUTED_PERCENT and not is_slow
    days = COMPUTED_DAYS if is_computed else 3 + (LEAD_DAYS_DIRECT if item.is_direct else 2)
    reorder_point = 0 if daily < SOLD_IN_A_MONTH else max(1, ceil(daily * days))
    further = 1 if is_slow or not family.computed else max(4, ceil(daily * BATCH_DAYS))
    fate = random.choices(FATES, FATE_SHARES)[0]
    return PlannedKey(
        location=store,
        item=item,
        daily_units=daily,
        fate=fate,
        family=family.code,
        levels="computed" if is_computed else "fixed",
        reorder_point_units=reorder_point,
        order_up_to_units=reorder_point + further,
        price_mode=_price_mode(random.randrange(100), fate, is_slow=is_slow),
        auto_max_minor=_automatic_minor(random.randrange(100), fate),
    )


def _automatic_minor(drawn: int, fate: str) -> int:
    """Return the largest value, in minor units, of a need that the rules order without a person.

    It is 0, which means none, for miscounted keys: a person should count the shelf first. `drawn`
    is a random number from 0 to 99.
    """
    return AUTOMATIC_MINOR if drawn < AUTOMATIC_PERCENT and fate != "miscounted" else 0


def _price_mode(drawn: int, fate: str, *, is_slow: bool) -> str:
    """Return `advise` if the rules propose prices for a store's key, else `off`.

    `drawn` is a random number from 0 to 99.
    """
    if is_slow:
        is_advised = fate == "too_much" and drawn < ADVISED_SLOW_PERCENT
    else:
        is_advised = drawn < ADVISED_PERCENT
    return "advise" if is_advised else "off"


def _warehouse_key(seed: int, item: Item, drawn: float) -> PlannedKey:
    random = Random(f"{seed}:key:{item.sku}")  # noqa: S311 -- a demo, not a secret
    reorder_point = max(2 * item.pack_units, ceil(drawn * 10))
    return PlannedKey(
        location=item.warehouse,
        item=item,
        daily_units=drawn,
        fate="ordinary",
        family=MIN_MAX.code,
        levels="fixed",
        reorder_point_units=reorder_point,
        order_up_to_units=reorder_point
        + max(item.pack_units * random.randrange(2, 5), ceil(drawn * WAREHOUSE_DAYS)),
        price_mode="off",
    )


def policy(key: PlannedKey) -> dict[str, object]:
    """Return the columns of `item_location` for the history: the rules are off during it."""
    item, slow = key.item, key.is_slow
    seldom = key.is_store and key.daily_units < SELDOM_BELOW
    return {
        "clock_mode": "replayed",
        "replenish_family": OFF.code,
        "price_mode": "off",
        # Ten-minute windows from 08:00 to 21:00 UTC.
        "trading_windows": 78,
        "trading_from_window": 48,
        "demand_method": "tsb" if slow and key.is_store and not seldom else "ewma",
        # With 125, the estimated demand of an item that sells once a month would fall to 2 % of its
        # value between two sales.
        "demand_alpha_permille": 20 if seldom else 125,
        "initial_rate_micro": int(key.daily_units * 1_000_000) if seldom else None,
        "levels": key.levels,
        "reorder_point_units": key.reorder_point_units,
        "order_up_to_units": key.order_up_to_units,
        "order_quantity_units": key.pack_units,
        "lead_time_centidays": 100 * (LEAD_DAYS_DIRECT if item.is_direct else 2),
        "lead_time_sd_centidays": 100,
        "review_centidays": 700,
        "cycle_centidays": 700,
        "min_cover_centidays": 500,
        "max_cover_centidays": 1400,
        # Slow items use days of cover: the method `service` assumes normally distributed demand.
        "safety_method": "days" if slow else "service",
        "safety_centidays": 300,
        "service_z_micro": SERVICE_95,
        "order_days_mask": 0b0101010 if FAMILIES[key.family].is_periodic else 127,
        "supplier": item.supplier,
        "cost_minor": item.cost_minor,
        "pack_units": key.pack_units,
        # One unit of a slow item lasts for months: that is no reason to flag its need.
        "guard_days": 1_000 if slow else 120,
        "auto_max_minor": key.auto_max_minor,
        "regular_minor": item.regular_minor,
        "margin_permille": MARGIN_PERMILLE,
        "tax_bp": TAX_BP,
        "endings": [49, 99],
        "overstock_days": 240 if slow else 84,
        "idle_days": 75 if slow else 28,
    }
