"""The pages that the bench requests, by name, with the addresses for a generated retailer."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urlencode

from bench.web.retailer import Product, Retailer, Store
from webui.readmodel.figures import STATUSES
from webui.readmodel.stock_filters import ORDERS

# Columns that the page sorts from the largest value at the first click.
_FROM_LARGEST: Final = ("on_hand", "available", "in_transit", "on_order")


@dataclass(frozen=True, slots=True)
class Case:
    """One page to measure: its name in the report and its address."""

    name: str
    address: str


def cases(retailer: Retailer) -> list[Case]:
    """Return every page to measure. The sorted stock lists show the store with most items."""
    store = max(retailer.stores, key=lambda one: one.items)
    product = ranged(retailer, store)
    item = f"/items/{store.code}/{quote(product.code)}"
    return [
        Case("stock, first page", "/"),
        Case("stock, deep page", _stock(after=_middle(retailer))),
        *_sorted_pages(store),
        *(Case(f"status {status}", _stock(status=status)) for status in STATUSES),
        *_searches(product),
        Case("item", item),
        Case("reorders", "/reorders/"),
        Case("prices", "/prices/"),
    ]


def ranged(retailer: Retailer, store: Store) -> Product:
    """Return the product in the middle of the store's range."""
    return retailer.products[(store.first + store.items // 2) % len(retailer.products)]


def _middle(retailer: Retailer) -> str:
    """Return the key in the middle of the stock list."""
    stores = sorted(retailer.stores, key=lambda store: store.code)
    store = stores[len(stores) // 2]
    return f"{store.code}|{ranged(retailer, store).code}"


def _stock(**query: str) -> str:
    return f"/?{urlencode(query)}"


def _sorted_pages(store: Store) -> Iterator[Case]:
    yield Case("one store", _stock(location=store.code))
    for column in ORDERS:
        sort = f"-{column}" if column in _FROM_LARGEST else column
        yield Case(f"one store by {column}", _stock(location=store.code, sort=sort))


def _searches(product: Product) -> Iterator[Case]:
    first, second, noun, *_ = product.name.split()
    typo = noun[0] + noun[2:]
    yield Case("search, one code", _stock(q=product.code))
    yield Case("search, beginning of a code", _stock(q=product.code[:-2]))
    yield Case("search, three words", _stock(q=f"{first} {second} {noun}"))
    yield Case("search, one letter missing", _stock(q=typo))
    yield Case("search, a common word", _stock(q=noun))
    for name, text in (("one code", product.code), ("a common word", noun), ("a typo", typo)):
        yield Case(f"find, {name}", f"/find/?{urlencode({'q': text})}")
