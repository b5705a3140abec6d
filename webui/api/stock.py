"""Stock of items at locations, as the stock list shows it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from webui.accounts.api_tokens import STOCK_READ
from webui.accounts.roles import SEE
from webui.api.access import Token
from webui.api.answers import (
    SUPPLIER,
    USUAL_ROWS,
    After,
    Aged,
    Limit,
    Location,
    SkuInPath,
    age_of,
    currency,
    described,
    position_of,
    split_page,
    time_of,
)
from webui.readmodel.codes import ItemCode as KnownCode
from webui.readmodel.codes import codes_of
from webui.readmodel.stock import Place, StockRow, stock_page, stock_rows
from webui.readmodel.stock_filters import Filters

Status = Literal["negative", "out", "low", "over", "ok"]
router = Router(tags=["stock"])


class ItemCode(Schema):
    """A code of an item: a GTIN of 14 digits, or the article number of the product at `supplier`.

    One scan of a GTIN means `pack_units` units: more than 1 for a case with several units.
    """

    code: str
    supplier: str | None
    pack_units: int


class StockItem(Schema):
    """One item at one location. Quantities are units; the price is in minor units.

    `cover_centidays` is the time for which the available and arriving units last, in hundredths of
    a day; it is null without demand. Up to the time `as_of`, the item's figures are complete.
    """

    location: str
    sku: str
    name: str
    supplier: str | None
    on_hand_units: int
    available_to_sell_units: int
    in_transit_units: int
    on_order_units: int
    stock_known: bool
    status: Status
    cover_centidays: int | None
    price_minor: int | None
    currency: str
    as_of: datetime | None
    codes: list[ItemCode]


class StockPage(Aged):
    """Items in the order of location and SKU. `next` is null on the last page."""

    items: list[StockItem]
    next: str | None


class StockAnswer(Aged):
    """One item, with the age of its figures."""

    item: StockItem


class StockFilters(Schema):
    """Filters of the list; an empty one filters nothing."""

    q: Annotated[
        str, Field(max_length=100, description="Words of SKU, name or location, or a whole code.")
    ] = ""
    location: Location = ""
    supplier: Annotated[str, Field(max_length=64, description=SUPPLIER)] = ""
    status: Annotated[Literal["", Status], Field(description="Only items in this state.")] = ""
    after: After = ""
    limit: Limit = USUAL_ROWS


@router.get("/stock", auth=Token(STOCK_READ, SEE), response=StockPage, operation_id="listStock")
def list_stock(request: HttpRequest, given: Query[StockFilters]) -> StockPage:
    """List the stock at the locations of the token's owner, in the order of location and SKU."""
    filters = Filters(given.q, given.location, given.status, given.supplier)
    found = stock_page(filters, place=Place(position_of(given.after)), rows=given.limit + 1)
    rows, following = split_page(found.rows, given.limit, lambda row: row.inv_key)
    keys = [row.inv_key for row in rows]
    return StockPage(items=stock_items(rows), next=following, **age_of(keys))


@router.get(
    "/stock/{location}/{code:sku}",
    auth=Token(STOCK_READ, SEE),
    response=StockAnswer,
    operation_id="getStock",
)
def get_stock(request: HttpRequest, location: str, sku: SkuInPath) -> StockAnswer:
    """Return the stock of one item: one product at one location."""
    key = f"{location}|{sku}"
    rows = stock_rows([key])
    if not rows:
        message = f"{key} has no stock: no fact of this item at this location is known"
        raise Http404(message)
    return StockAnswer(item=stock_items(rows)[0], **age_of([key]))


def stock_items(rows: Sequence[StockRow]) -> list[StockItem]:
    """Return rows of the read model as the `StockItem`s of a response."""
    codes = codes_of([row.sku for row in rows])
    return [_stock_item(row, codes[row.sku]) for row in rows]


def _stock_item(row: StockRow, codes: Sequence[KnownCode]) -> StockItem:
    given = [
        ItemCode(code=code.code, supplier=code.supplier or None, pack_units=code.pack_units)
        for code in codes
    ]
    common = {"currency": currency(), "as_of": time_of(row.as_of_us), "codes": given}
    return described(StockItem, row, **common)
