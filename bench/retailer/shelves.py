"""The real units on the shelves of a live run; the books are the recorded units.

The books are the sums of the facts in Postgres. The shelf starts with the book's units, minus
unrecorded differences. A sale takes units from the shelf. A theft takes units without a fact. A
count sets the book to the units on the shelf.
"""

import threading
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from django.db import connection

from bench.retailer.catalogue import STORE_SHARES, STORES, WAREHOUSES, catalogue

PHANTOM_PERMILLE: Final = 40
SURPLUS_PERMILLE: Final = 8

_SHOPS: Final = """
SELECT item.location, item.sku, price.price_minor, item.pack_units, item.supplier
FROM retail.item_location AS item
CROSS JOIN LATERAL retail.price_at(item.inv_key, statement_timestamp()) AS price
WHERE item.location = ANY(%s) AND item.clock_mode = 'live' AND item.status = 'active'
ORDER BY md5(item.inv_key)
"""
# Books are read once per run: the last count and the movements since (domain.md 2.4).
_BOOKS: Final = """
WITH counted AS (
    SELECT DISTINCT ON (inv_key) inv_key, units, business_at
    FROM retail.approved_count WHERE location = ANY(%(locations)s)
    ORDER BY inv_key, business_at DESC, row_id DESC
)
SELECT counted.inv_key, (counted.units + coalesce(sum(moved.on_hand_units), 0))::bigint
FROM counted LEFT JOIN retail.movement moved
    ON moved.inv_key = counted.inv_key AND moved.business_at > counted.business_at
GROUP BY counted.inv_key, counted.units
"""


@dataclass(frozen=True, slots=True)
class Shop:
    """An item on sale in a store."""

    location: str
    sku: str
    price_minor: int
    pack_units: int = 1
    supplier: str | None = None

    @property
    def inv_key(self) -> str:
        """Return the key `LOCATION|SKU`."""
        return f"{self.location}|{self.sku}"


def shops_of_demo() -> list[Shop]:
    """Return the stores' items that have a price in force, best sellers of large stores first.

    Replayed and inactive items are left out. Items that the demo doesn't have come last, ordered by
    a hash of their keys.
    """
    sellers = {item.sku: item.daily_units for item in catalogue(1)}
    found = [Shop(*row) for row in rows(_SHOPS, [list(STORES)])]
    return sorted(
        found, key=lambda shop: -sellers.get(shop.sku, 0.0) * STORE_SHARES.get(shop.location, 1)
    )


@dataclass(slots=True)
class Shelves:
    """Real units by key. Customers and staff run in two threads, so every change holds the lock."""

    units: dict[str, int] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, inv_key: str, wanted: int) -> int:
        """Take up to `wanted` units; return the number taken."""
        with self._lock:
            there = max(0, self.units.get(inv_key, 0))
            taken = min(there, wanted)
            self.units[inv_key] = there - taken
        return taken

    def put(self, inv_key: str, units: int) -> None:
        """Add arriving goods."""
        with self._lock:
            self.units[inv_key] = max(0, self.units.get(inv_key, 0)) + units

    def on(self, inv_key: str) -> int:
        """Return the units on the shelf of a key, at least 0."""
        return max(0, self.units.get(inv_key, 0))


def real_shelves(seed: int) -> Shelves:
    """Return shelves with the recorded stock minus differences that `seed` determines."""
    books = rows(_BOOKS, {"locations": [*STORES, *WAREHOUSES]})
    return Shelves({key: max(0, units - unrecorded_units(seed, key)) for key, units in books})


def unrecorded_units(seed: int, inv_key: str) -> int:
    """Return the recorded units minus the real units on the shelf, when the run starts."""
    random = Random(f"{seed}:unseen:{inv_key}")  # noqa: S311 -- traffic, not a secret
    drawn = random.randrange(1000)
    if drawn < PHANTOM_PERMILLE:
        return random.randrange(1, 4)
    return -1 if drawn < PHANTOM_PERMILLE + SURPLUS_PERMILLE else 0


def rows(statement: str, parameters: Any) -> list[tuple[Any, ...]]:  # noqa: ANN401 -- any SQL values
    """Return all rows of a query."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
