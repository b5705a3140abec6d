"""Codes that the scan field of a delivery understands without a network."""

import json
from collections.abc import Sequence

from webui.desks.receiving.forms import TypedRow
from webui.readmodel.codes import codes_of


def scan_codes(rows: Sequence[TypedRow]) -> str:
    """Return the codes of the rows' items as JSON: `{code: [SKU, units of one scan]}`.

    The codes are GTINs with 14 digits, and codes of the order's supplier in capital letters.
    """
    suppliers = {row.row.line.sku: row.row.line.supplier for row in rows}
    return json.dumps(
        {
            code.code if code.is_gtin else code.code.upper(): [sku, code.pack_units]
            for sku, codes in codes_of(list(suppliers)).items()
            for code in codes
            if code.is_gtin or code.supplier == suppliers[sku]
        }
    )
