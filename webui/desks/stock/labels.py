"""Shelf labels to print: name, price, SKU, and the barcode of the GTIN or else of the SKU."""

from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_GET

from ledger.items.gtin import shortest
from webui.accounts.roles import SEE, requires
from webui.desks.stock.barcode import bars, has_barcode
from webui.desks.stock.ean import ean_bars, has_ean
from webui.desks.stock.home_store import chosen_store
from webui.readmodel.codes import ItemCode, codes_of, unit_gtin
from webui.readmodel.stock import PAGE_ROWS, StockRow, stock_rows
from webui.shell.page import render_page

MOST_COPIES: Final = 50
# A module (width of the narrowest bar) is a CSS pixel: 0.26 mm. A barcode with more modules doesn't
# fit on a label of 63.5 mm.
_MOST_MODULES: Final = 230


@dataclass(frozen=True, slots=True)
class Label:
    """An item's label. `bars` is an SVG path of the barcode, or empty if no barcode fits.

    `width` is the barcode's width in modules. For an EAN, it includes the quiet zones. A module is
    the width of the narrowest bar. `digits` are the digits of the GTIN in the barcode, or empty if
    the barcode has the SKU.
    """

    row: StockRow
    bars: str
    width: int
    digits: str = ""


@require_GET
@requires(SEE)
def labels(request: HttpRequest) -> HttpResponse:
    """Show the labels of the items that the URL names, for one store, ready to print."""
    location = chosen_store(request)
    skus = request.GET.getlist("sku")[:PAGE_ROWS]
    rows = stock_rows([f"{location}|{sku[:32]}" for sku in skus]) if location else []
    copies = _copies(request.GET.get("copies", ""))
    codes = codes_of([row.sku for row in rows])
    context = {
        "labels": [label for row in rows for label in [_label(row, codes[row.sku])] * copies],
        "rows": rows,
        "skus": skus,
        "location": location,
        "copies": copies,
        "most_copies": MOST_COPIES,
        "currency": settings.CURRENCY,
    }
    return render_page(request, "find/labels.html", context)


def labels_url(rows: list[StockRow]) -> str:
    """Return the URL of the labels of these rows, which belong to one store."""
    query = [("location", rows[0].location), *(("sku", row.sku) for row in rows)] if rows else []
    return f"{reverse('labels')}?{urlencode(query)}"


def _label(row: StockRow, codes: list[ItemCode]) -> Label:
    gtin = unit_gtin(codes)
    if gtin and has_ean(gtin):
        return Label(row, *ean_bars(gtin), shortest(gtin))
    path, width = bars(row.sku) if has_barcode(row.sku) else ("", 0)
    return Label(row, path, width) if width <= _MOST_MODULES else Label(row, "", 0)


def _copies(text: str) -> int:
    given = int(text) if text.isascii() and text.isdigit() and len(text) < len("1000") else 1
    return min(MOST_COPIES, max(1, given))
