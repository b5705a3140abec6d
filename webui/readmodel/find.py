"""Products with their units in every store, for the pages Find and Scan.

A person sees the available units of all stores, so that they can send a customer there or ask for a
transfer (decision 0046). All other data, such as prices and policies, they see only of their own
stores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext

from ledger.access.scope import EVERYWHERE, within
from ledger.items.names import UNKNOWN
from ledger.items.scanned import (
    MATCHES_SQL,
    CodeMatch,
    active,
    match_parameters,
    matches,
    problem_of,
)
from ledger.kernel.rows import select
from ledger.messages import translated
from webui.readmodel.alphabet import alphabetic
from webui.readmodel.product_search import Found, find_products, literal, products_query
from webui.readmodel.stock import StockRow, listed_rows
from webui.readmodel.stock_filters import LISTED_SQL
from webui.translation.messages import translate

MOST_CARDS: Final = 12
MOST_STORES: Final = 24
NEAREST: Final = "nearest"
MOST: Final = "most"
BY_NAME: Final = "name"
_SORTS: Final = {
    NEAREST: "near DESC, greatest(available, 0) DESC, location",
    MOST: "greatest(available, 0) DESC, near DESC, location",
    BY_NAME: f"{alphabetic('name')}, location",
}


@dataclass(frozen=True, slots=True)
class StoreUnits:
    """The available units of one product in one store, with figures of all stores.

    `near` is True for a store in the region of the person's store. `total` is the sum over all
    stores, in which negative units count as 0. `stores` is the number of stores that have the item,
    and `holding` the number of stores with available units.
    """

    sku: str
    location: str
    name: str
    near: bool
    available: int
    total: int
    stores: int
    holding: int


# `rank` orders the stores of a product. `LISTED_SQL` leaves out a store whose only record of the
# item is a count without approval, because such a store doesn't have the item.
_STORES: Final = f"""
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
    WHERE s.sku = ANY(%(skus)s) AND {LISTED_SQL}
    WINDOW product AS (PARTITION BY s.sku)
), ranked AS (
    SELECT units.*, row_number() OVER (PARTITION BY sku ORDER BY {{sort}}) AS rank FROM units
)
SELECT sku, location, name, near, available, total, stores, holding
FROM ranked WHERE rank <= %(most)s ORDER BY sku, rank
"""  # noqa: S608 -- a constant of this project


@dataclass(frozen=True, slots=True)
class Card:
    """A product: its row `mine` in the person's store, and its units in other stores.

    `others` has up to 24 stores in the chosen order. `StoreUnits` explains `total`, `holding` and
    `stores`. `matched` is the code that the person searched for, None after a search for an SKU or
    words.
    """

    sku: str
    name: str
    department: str
    mine: StockRow | None
    others: tuple[StoreUnits, ...]
    total: int
    holding: int
    stores: int
    matched: CodeMatch | None = None

    @property
    def more_stores(self) -> int:
        """Number of stores with the item that the card doesn't show."""
        return self.stores - len(self.others) - (self.mine is not None)


@dataclass(frozen=True, slots=True)
class Cards:
    """The products of a search.

    `similar` is true if the products only resemble the search. `more` is true if the search found
    further products.
    """

    cards: tuple[Card, ...]
    similar: bool
    more: bool


NOTHING: Final = Cards((), similar=False, more=False)


def find(text: str, *, mine: str, sort: str = NEAREST) -> Cards:
    """Return up to 12 products for a search, with their units in the stores.

    Products whose SKU or code equals `text` are first. If no product matches, return items of the
    stock list whose SKU begins with `text`, or else products with similar names. `mine` is the code
    of the person's store, or empty.
    """
    found, codes = _hits(text, *products_query(text, most=MOST_CARDS + 1))
    similar = False
    if not found:
        found = _unnamed(text)
    if not found:
        found, similar = find_products(text, most=MOST_CARDS + 1, similar=True), True
    cards = _cards(found[:MOST_CARDS], mine, sort, codes)
    return Cards(cards, similar=similar and bool(cards), more=len(found) > MOST_CARDS)


def exact(code: str, *, mine: str) -> Card | None:
    """Return the product whose SKU is `code`, as given or in upper case.

    Otherwise return the product with this GTIN or supplier's code. Return None if there is no such
    product, or if suppliers use the code for several products.
    """
    found, codes = _hits(code, _BY_SKU, {"code": code})
    is_sku = bool(found) and found[0].sku.upper() == code.upper()
    found = found[:1] if is_sku or len(found) == 1 else []
    cards = _cards(found or _unnamed(code, whole=True), mine, NEAREST, [] if is_sku else codes)
    return cards[0] if cards else None


def why_not_found(text: str) -> str:
    """Return a sentence with the reason why a code finds no item, and the next step.

    Return an empty text if `text` is neither a known code nor a number that is wrong as a GTIN.
    """
    problem = problem_of(text, matches(text))
    if problem == UNKNOWN:
        return ""
    shown = translated(problem, translate)
    return gettext("This is %(problem)s.") % {"problem": shown}


_BY_SKU: Final = """SELECT p.code AS sku, p.name, p.department FROM retail.product p
WHERE p.code IN (%(code)s, upper(%(code)s)) ORDER BY p.code <> %(code)s LIMIT 1"""
# Codes and products in one statement. A row of a product has no code.
_HITS: Final = f"""
SELECT 0 AS place, c.* FROM ({MATCHES_SQL}) c
UNION ALL
SELECT row_number() OVER (), '', '', '', w.sku, w.name, w.department, 1, true FROM ({{products}}) w
ORDER BY place, supplier, sku
"""  # noqa: S608 -- a constant of this project


@dataclass(frozen=True, slots=True)
class _Hit(CodeMatch):
    """A row of a search: a code that equals the text, or a product, which has an empty code.

    `place` is the product's position in its list, from 1 on; 0 for a code.
    """

    place: int


def _hits(
    text: str, products: str, parameters: Mapping[str, Any]
) -> tuple[list[Found], list[CodeMatch]]:
    """Return the products of a search, each once, and the active codes that equal the text.

    The product whose SKU is `text` is first. Then come the products of these codes, then the
    products that the SQL `products` selects.
    """
    given = {**parameters, **match_parameters(text)}
    rows = select(_HITS.format(products=products), given, _Hit)
    codes = active([row for row in rows if row.place == 0])
    others = [row for row in rows if row.place]
    first = [row for row in others if row.sku.upper() == text.upper()]
    found = [Found(row.sku, row.name, row.department) for row in (*first, *codes, *others)]
    return list({product.sku: product for product in found}.values()), codes


def _unnamed(text: str, *, whole: bool = False) -> list[Found]:
    """Return items of the stock list whose SKU begins with `text`, or equals it if `whole`.

    Callers use it if the catalogue has no match. These items have their SKU as their name.
    """
    sql = f"""SELECT DISTINCT s.sku, s.sku AS name, '' AS department FROM read_model.stock s
             WHERE (s.sku LIKE %(begins)s OR s.sku LIKE %(upper_begins)s) AND {LISTED_SQL}
             ORDER BY s.sku LIMIT %(most)s"""  # noqa: S608 -- a constant of this project
    end = "" if whole else "%"
    begins = {"begins": f"{literal(text)}{end}", "upper_begins": f"{literal(text.upper())}{end}"}
    return select(sql, begins | {"most": MOST_CARDS + 1}, Found) if text else []


def _cards(
    products: Sequence[Found], mine: str, sort: str, codes: Sequence[CodeMatch]
) -> tuple[Card, ...]:
    by_sku: dict[str, list[StoreUnits]] = {product.sku: [] for product in products}
    if not by_sku:
        return ()
    own = {row.sku: row for row in listed_rows([f"{mine}|{sku}" for sku in by_sku] if mine else [])}
    given = {"skus": list(by_sku), "mine": mine, "most": MOST_STORES}
    with within(EVERYWHERE):  # decision 0046
        order = _SORTS.get(sort, _SORTS[NEAREST])
        for row in select(_STORES.format(sort=order), given, StoreUnits):
            by_sku[row.sku].append(row)
    matched = {match.sku: match for match in codes}
    return tuple(
        _card(found, by_sku[found.sku], own.get(found.sku), matched.get(found.sku))
        for found in products
    )


def _card(
    product: Found,
    rows: Sequence[StoreUnits],
    mine: StockRow | None,
    matched: CodeMatch | None,
) -> Card:
    return Card(
        product.sku,
        product.name,
        product.department,
        mine=mine,
        others=tuple(row for row in rows if mine is None or row.location != mine.location),
        total=rows[0].total if rows else 0,
        holding=rows[0].holding if rows else 0,
        stores=rows[0].stores if rows else 0,
        matched=matched,
    )


@dataclass(frozen=True, slots=True)
class Holder:
    """A location that has an item in its range, and its available units."""

    location: str
    available: int


_HOLDERS: Final = """SELECT il.location, greatest(s.available_to_sell_units, 0) AS available
FROM retail.item_location il LEFT JOIN read_model.stock s ON s.inv_key = il.inv_key
WHERE il.sku = %(sku)s"""


def holders(sku: str) -> dict[str, int]:
    """Return {location: available units} of an item, for all stores that have it in range.

    Negative units count as 0, and so does an item without a row in the read model. A page may sort
    stores by these units, but must not show the units of other stores (decision 0046).
    """
    with within(EVERYWHERE):
        rows = select(_HOLDERS, {"sku": sku}, Holder)
    return {row.location: row.available for row in rows}
