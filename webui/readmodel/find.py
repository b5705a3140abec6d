"""Products with their units in every store, for the pages Find and Scan.

A person sees the available units of all stores, so that they can send a customer there or ask for a
transfer (decision 0046). Everything else, like prices and policies, stays within their own stores.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ledger.access.scope import EVERYWHERE, within
from ledger.kernel.rows import select
from webui.readmodel.product_search import Found, find_products, literal
from webui.readmodel.stock import StockRow, stock_rows

MOST_CARDS: Final = 12
MOST_STORES: Final = 24
NEAREST: Final = "nearest"
MOST: Final = "most"
BY_NAME: Final = "name"
_SORTS: Final = {
    NEAREST: "near DESC, greatest(available, 0) DESC, location",
    MOST: "greatest(available, 0) DESC, near DESC, location",
    BY_NAME: "name, location",
}


@dataclass(frozen=True, slots=True)
class StoreUnits:
    """The available units of one product in one store, with the sum over all stores.

    `near` is True for a store of the same region as the person's store. `total` leaves out stores
    that sold more than they had.
    """

    sku: str
    location: str
    name: str
    near: bool
    available: int
    total: int
    stores: int
    holding: int


# `rank` orders the stores of a product; the person's own store has its own place on the card.
_STORES: Final = """
WITH units AS (
    SELECT s.sku, s.location, coalesce(l.name, s.location) AS name,
           coalesce(theirs.region = mine.region, false) AS near,
           s.available_to_sell_units AS available,
           sum(greatest(s.available_to_sell_units, 0)) OVER product::bigint AS total,
           count(*) OVER product AS stores,
           count(*) FILTER (WHERE s.available_to_sell_units > 0) OVER product AS holding
    FROM read_model.stock s
    LEFT JOIN retail.location l ON l.code = s.location
    LEFT JOIN app.location_region theirs ON theirs.location = s.location
    LEFT JOIN app.location_region mine ON mine.location = %(mine)s
    WHERE s.sku = ANY(%(skus)s)
    WINDOW product AS (PARTITION BY s.sku)
), ranked AS (
    SELECT units.*, row_number() OVER (PARTITION BY sku ORDER BY {sort}) AS rank FROM units
)
SELECT sku, location, name, near, available, total, stores, holding
FROM ranked WHERE rank <= %(most)s ORDER BY sku, rank
"""


@dataclass(frozen=True, slots=True)
class Card:
    """A product, its row in the person's store, and its units in others in the chosen order."""

    sku: str
    name: str
    department: str
    mine: StockRow | None
    others: tuple[StoreUnits, ...]
    total: int
    holding: int
    stores: int

    @property
    def more_stores(self) -> int:
        """Number of stores that have the item and are neither in `others` nor the person's."""
        return self.stores - len(self.others) - (self.mine is not None)


@dataclass(frozen=True, slots=True)
class Cards:
    """The products of a search; `similar` if they only resemble it, `more` if some are missing."""

    cards: tuple[Card, ...]
    similar: bool
    more: bool


NOTHING: Final = Cards((), similar=False, more=False)


def find(text: str, *, mine: str, sort: str = NEAREST) -> Cards:
    """Return up to 12 products for a search, with their units in the stores."""
    found, similar = find_products(text, most=MOST_CARDS + 1), False
    if not found:
        found = _unnamed(text)
    if not found:
        found, similar = find_products(text, most=MOST_CARDS + 1, similar=True), True
    cards = _cards(found[:MOST_CARDS], mine, sort)
    return Cards(cards, similar=similar and bool(cards), more=len(found) > MOST_CARDS)


def exact(code: str, *, mine: str) -> Card | None:
    """Return the product with this code in upper or lower case, or None."""
    found = _by_code(code) or _unnamed(code, whole=True)
    cards = _cards(found[:1], mine, NEAREST)
    return cards[0] if cards else None


def _by_code(code: str) -> list[Found]:
    sql = """SELECT p.code AS sku, p.name, p.department FROM retail.product p
             WHERE p.code IN (%(code)s, upper(%(code)s)) ORDER BY p.code <> %(code)s LIMIT 1"""
    return select(sql, {"code": code}, Found)


def _unnamed(text: str, *, whole: bool = False) -> list[Found]:
    """Return items that were sold or counted, but that the catalogue doesn't have, by their code.

    Within the person's stores: another store's unknown codes are its own matter.
    """
    sql = """SELECT DISTINCT s.sku, s.sku AS name, '' AS department FROM read_model.stock s
             WHERE s.sku LIKE %(begins)s OR s.sku LIKE %(upper_begins)s
             ORDER BY s.sku LIMIT %(most)s"""
    end = "" if whole else "%"
    begins = {"begins": f"{literal(text)}{end}", "upper_begins": f"{literal(text.upper())}{end}"}
    return select(sql, begins | {"most": MOST_CARDS + 1}, Found) if text else []


def _cards(products: Sequence[Found], mine: str, sort: str) -> tuple[Card, ...]:
    by_sku: dict[str, list[StoreUnits]] = {product.sku: [] for product in products}
    if not by_sku:
        return ()
    own = {row.sku: row for row in stock_rows([f"{mine}|{sku}" for sku in by_sku] if mine else [])}
    given = {"skus": list(by_sku), "mine": mine, "most": MOST_STORES}
    with within(EVERYWHERE):  # decision 0046
        order = _SORTS.get(sort, _SORTS[NEAREST])
        for row in select(_STORES.format(sort=order), given, StoreUnits):
            by_sku[row.sku].append(row)
    return tuple(_card(found, by_sku[found.sku], own.get(found.sku)) for found in products)


def _card(product: Found, rows: Sequence[StoreUnits], mine: StockRow | None) -> Card:
    return Card(
        product.sku,
        product.name,
        product.department,
        mine=mine,
        others=tuple(row for row in rows if mine is None or row.location != mine.location),
        total=rows[0].total if rows else 0,
        holding=rows[0].holding if rows else 0,
        stores=rows[0].stores if rows else 0,
    )
