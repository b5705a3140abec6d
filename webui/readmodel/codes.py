"""Active codes of products, for pages, printed orders and the API (decision 0057)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ledger.items.gtin import shortest
from ledger.kernel.rows import select


@dataclass(frozen=True, slots=True)
class ItemCode:
    """A code of a product. `supplier` is empty for a GTIN, whose `code` has 14 digits.

    `pack_units` are the units in the package with this code: 1 for a single unit, 12 for a case of
    12. It is 1 for a supplier's code.
    """

    sku: str
    code: str
    supplier: str
    supplier_name: str
    pack_units: int

    @property
    def is_gtin(self) -> bool:
        """True for a GTIN."""
        return not self.supplier

    @property
    def shown(self) -> str:
        """The code as printed on the package or on the supplier's papers."""
        return shortest(self.code) if self.is_gtin else self.code


_CODES: Final = """
SELECT g.sku, g.code, '' AS supplier, '' AS supplier_name, g.pack_units
FROM retail.gtin g WHERE g.is_active AND g.sku = ANY(%(skus)s)
UNION ALL
SELECT n.sku, n.number, n.supplier, s.name, 1
FROM retail.supplier_code n JOIN retail.supplier s ON s.code = n.supplier
WHERE n.is_active AND n.sku = ANY(%(skus)s)
ORDER BY 1, 3, 5, 2
"""


def codes_of(skus: Sequence[str]) -> dict[str, list[ItemCode]]:
    """Return {sku: active codes}: GTINs of units, GTINs of cases, then suppliers' codes."""
    found: dict[str, list[ItemCode]] = {sku: [] for sku in skus}
    if found:
        for code in select(_CODES, {"skus": list(found)}, ItemCode):
            found[code.sku].append(code)
    return found


def unit_gtin(codes: Sequence[ItemCode]) -> str:
    """Return the product's first GTIN of a single unit, with 14 digits, or an empty text."""
    gtins = (code.code for code in codes if code.is_gtin and code.pack_units == 1)
    return next(gtins, "")


def numbers_at(codes: Sequence[ItemCode], supplier: str) -> str:
    """Return the codes that `supplier` uses, from a product's `codes`: `A-17, A-18`."""
    return ", ".join(code.code for code in codes if code.supplier == supplier)
