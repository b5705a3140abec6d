"""The demo retailer as values: who sells what, with which policy and history. Pure.

Six stores and a warehouse, 300 items, about 1,200 item-locations, two and a half weeks of sales.
The history is planned first and the opening stock follows from it, so that every key ends where
the story wants it: most are comfortable, some are due for an order, some have far too much, a few
are negative because a till sold what nobody had booked in.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import ceil
from random import Random
from typing import Final

from inventory.policies.price_targets import floor_minor

WAREHOUSE: Final = "DC-1"
STORES: Final = ("BERLIN-1", "LYON-1", "MADRID-1", "PARIS-1", "ROMA-1", "WIEN-1")
SUPPLIERS: Final = {
    "ALPINE": "Alpine Outdoor Goods",
    "BALTIC": "Baltic Home Textiles",
    "CERES": "Ceres Kitchen Supply",
    "DELTA": "Delta Toys and Games",
    "EOLIA": "Eolia Lighting",
    "FERRUM": "Ferrum Tools",
}
DEPARTMENTS: Final = {
    "Outdoor": ("ALPINE", ("Rucksack", "Bottle", "Lantern", "Blanket", "Umbrella")),
    "Home": ("BALTIC", ("Cushion", "Towel", "Throw", "Curtain", "Rug")),
    "Kitchen": ("CERES", ("Mug", "Pan", "Knife", "Jar", "Teapot")),
    "Toys": ("DELTA", ("Puzzle", "Kite", "Blocks", "Doll", "Drum")),
    "Lighting": ("EOLIA", ("Lamp", "Candle", "Spot", "Shade", "Garland")),
    "Tools": ("FERRUM", ("Hammer", "Spanner", "Drill", "Tape", "Saw")),
}
STYLES: Final = ("Classic", "Vintage", "Nordic", "Garden", "Travel", "City", "Junior", "Pro")
COLOURS: Final = ("red", "blue", "green", "white", "black", "oak", "sand", "grey")
ITEMS: Final = 300
ITEMS_PER_STORE: Final = 150
HISTORY_DAYS: Final = 17
TAX_BP: Final = 2000
MARGIN_PERMILLE: Final = 200
OPENING_HOUR: Final = 8
OPEN_HOURS: Final = 12
COUNTED_PERCENT: Final = 20
# How the story of a key ends, and for how many of a hundred.
FATES: Final = ("negative", "due", "too_much", "comfortable")
SHARES: Final = (1, 4, 4, 91)


@dataclass(frozen=True, slots=True)
class Item:
    """One SKU and what it costs."""

    sku: str
    name: str
    department: str
    supplier: str
    cost_minor: int
    regular_minor: int
    pack_units: int

    @property
    def floor_minor(self) -> int:
        """Lowest price that covers cost, margin and tax."""
        return floor_minor(self.cost_minor, MARGIN_PERMILLE, TAX_BP)


@dataclass(frozen=True, slots=True)
class PlannedSale:
    """One line of the history."""

    location: str
    sku: str
    units: int
    amount_minor: int
    at: datetime


@dataclass(frozen=True, slots=True)
class PlannedReceipt:
    """An order of the history that has arrived in full."""

    units: int
    ordered_at: datetime
    received_at: datetime


@dataclass(frozen=True, slots=True)
class PlannedKey:
    """One item at one location: levels, modes and history."""

    location: str
    item: Item
    daily_units: float  # only shapes random demand; no rule of the product reads it
    family: str
    levels: str
    reorder_point_units: int
    order_up_to_units: int
    price_mode: str
    opening_units: int
    sales: tuple[PlannedSale, ...]
    receipt: PlannedReceipt | None
    count: tuple[datetime, int] | None

    @property
    def inv_key(self) -> str:
        """The key of item and location."""
        return f"{self.location}|{self.item.sku}"


def catalogue(random: Random) -> list[Item]:
    """Three hundred items with a price that leaves the margin."""
    items = []
    departments = list(DEPARTMENTS.items())
    for number in range(ITEMS):
        department, (supplier, nouns) = departments[number % len(departments)]
        cost = random.randrange(150, 4000)
        floor = floor_minor(cost, MARGIN_PERMILLE, TAX_BP)
        name = f"{random.choice(STYLES)} {random.choice(nouns)} {random.choice(COLOURS)}"
        items.append(
            Item(
                sku=f"{department[:3].upper()}-{1000 + number}",
                name=name,
                department=department,
                supplier=supplier,
                cost_minor=cost,
                # Shelf prices end in 99 and lie a good way over the floor, so cuts are possible.
                regular_minor=ceil(floor * random.uniform(1.4, 2.0) / 100) * 100 - 1,
                pack_units=random.choice((1, 6, 6, 12)),
            )
        )
    return items


def plan(seed: int, midnight: datetime) -> tuple[list[Item], list[PlannedKey]]:
    """The whole retailer; `midnight` starts the day after its history."""
    random = Random(seed)  # noqa: S311 -- a demo, not a secret
    items = catalogue(random)
    keys = [
        _store_key(random, store, item, midnight)
        for store in STORES
        for item in random.sample(items, ITEMS_PER_STORE)
    ]
    keys += [_warehouse_key(random, item) for item in items]
    return items, keys


def _store_key(random: Random, store: str, item: Item, midnight: datetime) -> PlannedKey:
    daily = min(8.0, 0.3 + random.expovariate(1 / 1.6))
    sales = tuple(_history(random, store, item, daily, midnight))
    reorder_point = max(1, ceil(daily * 5 + 2))
    order_up_to = reorder_point + max(item.pack_units, ceil(daily * 7))
    closing = _closing_units(random, daily, reorder_point, order_up_to)
    receipt = _receipt(random, item, midnight) if _chance(random, 30) else None
    arrived = 0 if receipt is None else receipt.units
    opening = max(0, closing + sum(sale.units for sale in sales) - arrived)
    family = "par" if _chance(random, 20) else "sS"
    return PlannedKey(
        location=store,
        item=item,
        daily_units=daily,
        family=family,
        levels="computed" if family == "sS" and _chance(random, 30) else "fixed",
        reorder_point_units=reorder_point,
        order_up_to_units=order_up_to if family == "sS" else reorder_point + 1,
        price_mode="advise" if _chance(random, 40) else "off",
        opening_units=opening,
        sales=sales,
        receipt=receipt,
        count=_count(random, closing, midnight),
    )


def _closing_units(random: Random, daily: float, reorder_point: int, order_up_to: int) -> int:
    fate = random.choices(FATES, SHARES)[0]
    if fate == "negative":
        return -random.randrange(1, 4)
    if fate == "due":
        return random.randrange(0, reorder_point + 1)
    if fate == "too_much":
        return ceil(daily * random.randrange(70, 120))
    return random.randrange(reorder_point + 3, order_up_to + 4)


def _history(
    random: Random, store: str, item: Item, daily: float, midnight: datetime
) -> list[PlannedSale]:
    sales = []
    for day in range(HISTORY_DAYS, 0, -1):
        opens = midnight - timedelta(days=day) + timedelta(hours=OPENING_HOUR)
        left = _about(random, daily)
        while left > 0:
            units = min(left, 1 if _chance(random, 70) else 2)
            left -= units
            at = opens + timedelta(seconds=random.randrange(OPEN_HOURS * 3600))
            sales.append(_sale(store, item, units, at))
            if _chance(random, 4):
                sales.append(_sale(store, item, -units, at + timedelta(hours=1)))
    return sales


def _sale(store: str, item: Item, units: int, at: datetime) -> PlannedSale:
    return PlannedSale(store, item.sku, units, units * item.regular_minor, at)


def _chance(random: Random, percent: int) -> bool:
    return random.randrange(100) < percent


def _about(random: Random, mean: float) -> int:
    """A whole number that is `mean` on average, with the spread of arrivals."""
    total, waited = 0, random.expovariate(1)
    while waited < mean:
        total += 1
        waited += random.expovariate(1)
    return total


def _receipt(random: Random, item: Item, midnight: datetime) -> PlannedReceipt:
    arrived = midnight - timedelta(days=random.randrange(4, 10)) + timedelta(hours=7)
    return PlannedReceipt(
        units=item.pack_units * random.randrange(1, 3),
        ordered_at=arrived - timedelta(days=random.randrange(3, 6)),
        received_at=arrived,
    )


def _count(random: Random, closing: int, midnight: datetime) -> tuple[datetime, int] | None:
    """A cycle count after closing time of the last day; it often finds a unit less."""
    if closing <= 1 or not _chance(random, COUNTED_PERCENT):
        return None
    at = midnight - timedelta(hours=3, seconds=-random.randrange(3600))
    return at, closing - random.randrange(2)


def _warehouse_key(random: Random, item: Item) -> PlannedKey:
    reorder_point = 20 * item.pack_units
    opening = reorder_point * random.randrange(2, 5)
    return PlannedKey(
        location=WAREHOUSE,
        item=item,
        daily_units=0.0,
        family="sS",
        levels="fixed",
        reorder_point_units=reorder_point,
        order_up_to_units=reorder_point * 5,
        price_mode="off",
        opening_units=opening,
        sales=(),
        receipt=None,
        count=None,
    )
