"""Filters and sort orders of the stock list, as conditions and expressions of SQL.

Table aliases: `s` is `read_model.stock`, `p` `retail.product`, and `il` `retail.item_location`.
Expressions use only those columns of `s` that the index `stock_list` has. So Postgres reads the
rows of `s` only for the keys that a page shows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ledger.items.scanned import gtin_in
from ledger.kernel.rows import select, select_value
from webui.readmodel.alphabet import alphabetic
from webui.readmodel.choices import Choice
from webui.readmodel.figures import STATUS_SQL, STATUSES
from webui.readmodel.product_search import literal, product_condition, words_of

# `s.inv_key`, from the columns of the index.
KEY_SQL: Final = "s.location || '|' || s.sku"
# Postgres reads the policy's rate only for a key without a learned rate.
RATE_SQL: Final = f"""coalesce(s.demand_rate_micro, (
    SELECT il.initial_rate_micro FROM retail.item_location il WHERE il.inv_key = {KEY_SQL}), 0)"""  # noqa: S608 -- a constant of this module
# The cover of a key without demand, so that it sorts behind every other cover.
UNBOUNDED: Final = 9_223_372_036_854_775_807
_COVER_SQL: Final = f"""coalesce(
    (greatest(0, s.available_to_sell_units) + greatest(0, s.in_transit_units)) * 100000000
    / nullif({RATE_SQL}, 0), {UNBOUNDED})"""

# The stock list and Find show only items: keys with a policy or with a fact that has an effect. A
# figure other than 0, a reorder point or a learned rate proves that a key is an item. Postgres
# calls the slower function `app.is_item` only for the other keys.
LISTED_SQL: Final = f"""(s.on_hand_units <> 0 OR s.available_to_sell_units <> 0
    OR s.on_order_units <> 0 OR s.reorder_point_units IS NOT NULL
    OR s.demand_rate_micro IS NOT NULL OR app.is_item({KEY_SQL}))"""

# Columns that the list can be sorted by, with the SQL expression of the value and its type.
ORDERS: Final[Mapping[str, tuple[str, str]]] = {
    "item": (alphabetic("coalesce(p.name, s.sku)"), "text"),
    "on_hand": ("s.on_hand_units", "bigint"),
    "available": ("s.available_to_sell_units", "bigint"),
    "in_transit": ("s.in_transit_units", "bigint"),
    "on_order": ("s.on_order_units", "bigint"),
    "cover": (_COVER_SQL, "bigint"),
}


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search: SQL conditions of the rows that it finds, and their parameters."""

    where: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the stock list; empty texts filter nothing.

    `search` is the result of the search for `text`, or None until `searched` has run the search.
    """

    text: str = ""
    location: str = ""
    status: str = ""
    supplier: str = ""
    search: Search | None = None

    def as_query(self) -> dict[str, str]:
        """Return the filters as query parameters."""
        pairs = {
            "q": self.text,
            "location": self.location,
            "status": self.status,
            "supplier": self.supplier,
        }
        return {name: given for name, given in pairs.items() if given}


def searched(filters: Filters) -> Filters:
    """Run the search for `filters.text`; return the filters with its result.

    All statements with these filters then use this result, so the search runs only once.
    """
    return replace(filters, search=_search(filters.text) if filters.text else Search())


def conditions(filters: Filters) -> tuple[str, dict[str, Any]]:
    """Return the SQL condition for rows `s` that pass the filters, and its parameters.

    The condition leaves out keys that are no items (`LISTED_SQL`).
    """
    search = filters.search or searched(filters).search or Search()
    where, parameters = [*search.where, LISTED_SQL], {**search.parameters}
    if filters.location:
        where.append("s.location = %(location)s")
        parameters["location"] = filters.location
    if filters.supplier:
        where.append("il.supplier = %(supplier)s")
        parameters["supplier"] = filters.supplier
    if filters.status in STATUSES:
        where.append(f"({STATUS_SQL}) = %(status)s")
        parameters["status"] = filters.status
    if filters.status in _RARE:
        where.append(_RARE[filters.status])
    return " AND ".join(where), parameters


# For each rare status, a condition that all rows with this status meet. The partial indexes, for
# example `stock_low`, have the same conditions. Postgres uses such an index only if the query
# contains the condition of the index.
_RARE: Final = {
    "negative": "s.on_hand_units < 0",
    "out": "s.available_to_sell_units <= 0",
    "low": "s.available_to_sell_units > 0 AND s.available_to_sell_units <= s.reorder_point_units",
    "over": "s.on_hand_units > s.order_up_to_units",
}

# Pairs of a word and a location that the word names. Words that also match a product are left out.
# Both the words of the search and those of locations are in lower case and without accents.
_PLACES: Final = """
WITH place AS MATERIALIZED (
    SELECT l.code, array_to_string(retail.search_words(l.code || ' ' || l.name), ' ') AS words
    FROM retail.location l)
SELECT given.word AS code, place.code AS name
FROM unnest(%(words)s::text[]) AS given (word)
JOIN place ON strpos(place.words, given.word) > 0
WHERE NOT EXISTS (SELECT FROM retail.product p
    WHERE retail.search_terms(p.code, p.name) @@ ('''' || given.word || ''':*')::tsquery)
"""
# The SKUs that a search finds. With UNION instead of OR, each part can use its own index. Without
# DISTINCT, Postgres would expect as many SKUs as keys. It then wouldn't put the SKUs into a hash
# table.
_CODES: Final = """
    SELECT p.code FROM retail.product p WHERE {condition}
    UNION SELECT DISTINCT u.sku FROM read_model.stock u WHERE u.sku LIKE %(begins)s
    UNION SELECT DISTINCT u.sku FROM read_model.stock u WHERE u.sku LIKE %(upper_begins)s
    UNION SELECT g.sku FROM retail.gtin g WHERE g.code = %(gtin)s AND g.is_active
    UNION SELECT n.sku FROM retail.supplier_code n
        WHERE upper(n.number) = upper(%(number)s) AND n.is_active"""
# The largest number of SKUs that a statement lists. If a search finds more, Postgres reads the
# stock list in order and looks up the SKU of each row, until the page is full.
MOST_CODES: Final = 1_000
_FEW_CODES: Final = f"""SELECT array_agg(few.code ORDER BY few.code) FROM (
    SELECT found.code FROM ({_CODES}) found LIMIT {MOST_CODES + 1}) few"""  # noqa: S608 -- constants of this module


def _search(text: str) -> Search:
    """Return the conditions of a search for `text` in codes and names of products and locations.

    The search also finds SKUs that begin with `text`, even without a product of this SKU. It also
    finds products with the active GTIN or supplier's code `text`.
    """
    words = words_of(text)
    places = _places(words)
    where = [f"s.location = ANY(%(places{number})s)" for number in range(len(places))]
    parameters: dict[str, Any] = {
        f"places{number}": found for number, found in enumerate(places.values())
    }
    if len(places) == len(words) > 0:
        return Search(tuple(where), parameters)
    condition, of_products = product_condition([word for word in words if word not in places])
    of_codes = of_products | {
        "begins": f"{literal(text)}%",
        "upper_begins": f"{literal(text.upper())}%",
        "gtin": gtin_in(text),
        "number": text,
    }
    codes = select_value(_FEW_CODES.format(condition=condition), of_codes) or []
    if len(codes) > MOST_CODES:
        # IS TRUE keeps Postgres from planning a join, so that it reads the list in order.
        all_codes = f"(s.sku IN ({_CODES.format(condition=condition)})) IS TRUE"
        return Search((*where, all_codes), parameters | of_codes)
    # Postgres knows the length of a list; for a subquery it would use a default estimate.
    return Search((*where, "s.sku = ANY(%(codes)s)"), parameters | {"codes": codes})


def _places(words: list[str]) -> dict[str, list[str]]:
    """Return {word: codes of the locations whose code or name contains it}.

    A word that also matches the code or name of a product is left out, for example `kessel` if a
    product has the name `teekessel`.
    """
    found: dict[str, list[str]] = {}
    for place in select(_PLACES, {"words": words}, Choice) if words else []:
        found.setdefault(place.code, []).append(place.name)
    return found
