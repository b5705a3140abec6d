"""Codes of products: GTINs and suppliers' codes (decision 0057)."""

from dataclasses import dataclass
from typing import Annotated, Final

from django.http import HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from ledger.items.scanned import LONGEST_SCAN, gtin_in
from ledger.kernel.checks import LONGEST_SKU
from ledger.kernel.rows import select
from webui.accounts.api_tokens import STOCK_READ
from webui.accounts.roles import SEE
from webui.api.access import Token
from webui.api.answers import USUAL_ROWS, After, Limit, described, position_of, split_page

router = Router(tags=["stock"])


class ProductCode(Schema):
    """A code of a product: a GTIN of 14 digits, or the article number of the product at `supplier`.

    One scan of a GTIN means `pack_units` units: more than 1 for a case with several units. A scan
    finds active codes only.
    """

    code: str
    supplier: str | None
    sku: str
    name: str
    pack_units: int
    is_active: bool


class CodePage(Schema):
    """Codes in the order of SKU, supplier and code. `next` is null on the last page."""

    items: list[ProductCode]
    next: str | None


class CodeFilters(Schema):
    """Filters of the list; an empty one filters nothing."""

    code: Annotated[
        str,
        Field(
            max_length=LONGEST_SCAN,
            description="A whole code as a scanner gives it: a GTIN of 8, 12, 13 or 14 digits, also"
            " within an element string, or the number of a supplier.",
        ),
    ] = ""
    sku: Annotated[str, Field(max_length=LONGEST_SKU, description="Codes of this product.")] = ""
    after: After = ""
    limit: Limit = USUAL_ROWS


@dataclass(frozen=True, slots=True)
class _Row:
    """A code of a product; `key` is its sort key in the list."""

    key: str
    code: str
    supplier: str | None
    sku: str
    name: str
    pack_units: int
    is_active: bool


_ROWS: Final = """
SELECT c.* FROM (
    SELECT g.sku || '||' || g.code AS key, g.code, NULL AS supplier, g.sku, p.name, g.pack_units,
           g.is_active
    FROM retail.gtin g JOIN retail.product p ON p.code = g.sku
    WHERE (%(code)s = '' OR g.code = %(gtin)s) AND (%(sku)s = '' OR g.sku = %(sku)s)
    UNION ALL
    SELECT n.sku || '|' || n.supplier || '|' || n.number, n.number, n.supplier, n.sku, p.name, 1,
           n.is_active
    FROM retail.supplier_code n JOIN retail.product p ON p.code = n.sku
    WHERE (%(code)s = '' OR upper(n.number) = upper(%(code)s))
        AND (%(sku)s = '' OR n.sku = %(sku)s)
) c WHERE c.key COLLATE "C" > %(after)s ORDER BY c.key COLLATE "C" LIMIT %(rows)s
"""


@router.get("/codes", auth=Token(STOCK_READ, SEE), response=CodePage, operation_id="listCodes")
def list_codes(request: HttpRequest, given: Query[CodeFilters]) -> CodePage:
    """List the codes of products, or find the product of a code.

    Codes belong to the catalogue of the company, so they are the same for every store.
    """
    code = given.code.strip()
    filters = {"code": code, "gtin": gtin_in(code), "sku": given.sku}
    after = {"after": position_of(given.after), "rows": given.limit + 1}
    rows, following = split_page(
        select(_ROWS, filters | after, _Row), given.limit, lambda row: row.key
    )
    return CodePage(items=[described(ProductCode, row) for row in rows], next=following)
