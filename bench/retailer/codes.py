"""Codes of the demo retailer's items: an EAN-13, a GTIN for the case, the supplier's number.

The EAN-13s begin with 20 to 29. GS1 reserves this range for numbers within one company, so no real
product on the market has one of these codes.
"""

from collections.abc import Iterable
from random import Random
from typing import Final

from bench.retailer.catalogue import DEPARTMENTS, Item, suppliers
from ledger.items.codes import supplier_code
from ledger.items.gtin import check_digit, gtin14
from ledger.services import DescribeGtin, DescribeSupplierCode

_PLACES: Final = {
    department.name[:3].upper(): place for place, department in enumerate(DEPARTMENTS)
}
_CASE: Final = "1"  # first digit of a case's GTIN; packages of one item differ in this digit


def codes(items: Iterable[Item], seed: int) -> list[DescribeGtin | DescribeSupplierCode]:
    """Return the codes of items; equal seeds give equal codes.

    An item has the EAN-13 of one unit, and its article number at the supplier. If its pack has
    several units, it also has the GTIN of a case.
    """
    random = Random(f"{seed}:codes")  # noqa: S311 -- a demo, not a secret
    blocks = dict(zip(suppliers(seed), random.sample(range(2_000_000, 3_000_000), 40), strict=True))
    made: list[DescribeGtin | DescribeSupplierCode] = []
    for item in items:
        digits = f"{blocks[item.supplier]}{_item_number(item.sku):05}"
        made.append(DescribeGtin(gtin14(_checked(digits)), item.sku))
        if item.pack_units > 1:
            made.append(DescribeGtin(_checked(f"{_CASE}{digits}"), item.sku, item.pack_units))
        number = f"{item.supplier[:2]}-{_item_number(item.sku) + 10_000}"
        key = supplier_code(item.supplier, number)
        made.append(DescribeSupplierCode(key, item.supplier, number, item.sku))
    return made


def _item_number(sku: str) -> int:
    """Return a number below 100,000 that no other item has."""
    department, _, number = sku.partition("-")
    return _PLACES[department] * 1_000 + int(number) - 1_000


def _checked(digits: str) -> str:
    return f"{digits}{check_digit(digits)}"
