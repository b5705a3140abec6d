"""A purchase order for its supplier: buyer, codes, and the CSV that other software imports."""

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings

from webui.config.environment import WebEnvironment
from webui.desks.orders.lines import Line
from webui.desks.orders.order import Header
from webui.readmodel.codes import ItemCode, numbers_at, unit_gtin
from webui.shell.spreadsheet import safe_text

Codes = Mapping[str, Sequence[ItemCode]]
COLUMNS: Final = (
    "order",
    "ordered_on",
    "supplier",
    "ship_to",
    "ship_to_name",
    "line",
    "sku",
    "name",
    "units",
    "packs",
    "pack_units",
    "unit_cost",
    "total",
    "due_on",
    # Add new columns at the end: programs may read columns by their position.
    "currency",
    "buyer",
    "buyer_address",
    "supplier_code",
    "gtin",
    "ordered_units",
    "status",
)


@dataclass(frozen=True, slots=True)
class Buyer:
    """The ordering company and its currency. A line break separates the lines of its address."""

    name: str
    address: str
    currency: str

    @property
    def is_example(self) -> bool:
        """True if the company name is still the default of the settings."""
        return bool(self.name == WebEnvironment.model_fields["company_name"].default)


def buyer() -> Buyer:
    """Return the company of this installation, from its settings."""
    return Buyer(settings.COMPANY_NAME, settings.COMPANY_ADDRESS, settings.CURRENCY)


def decimal_text(minor: int) -> str:
    """Return an amount in minor units as a decimal number in major units: `-12.50` for -1250."""
    sign = "-" if minor < 0 else ""
    return f"{sign}{abs(minor) // 100}.{abs(minor) % 100:02d}"


def numbered(header: Header, lines: Sequence[Line], codes: Codes) -> list[tuple[Line, str]]:
    """Return each line with the supplier's codes of the line's item.

    The codes are one text, separated by commas. It is empty if the supplier has no code for the
    item.
    """
    return [(line, numbers_at(codes[line.sku], header.supplier)) for line in lines]


def csv_text(header: Header, lines: Sequence[Line], by: Buyer, codes: Codes) -> str:
    """Return the order as CSV by RFC 4180: one row per line, with the order's data in each row.

    `codes` has the codes of each item by SKU. Amounts are in major currency units: `12.50`.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for line, number in numbered(header, lines, codes):
        writer.writerow(
            [
                safe_text(header.order_ref),
                line.ordered_at.strftime("%Y-%m-%d"),
                safe_text(header.supplier),
                safe_text(line.location),
                safe_text(header.location_name),
                line.id,
                safe_text(line.sku),
                safe_text(line.name),
                line.promised_units,
                "" if line.packs is None else line.packs,
                line.pack_units,
                "" if line.cost_minor is None else decimal_text(line.cost_minor),
                "" if line.value_minor is None else decimal_text(line.value_minor),
                "" if line.due_on is None else line.due_on.isoformat(),
                by.currency,
                safe_text(by.name),
                safe_text(by.address),
                safe_text(number),
                unit_gtin(codes[line.sku]),
                line.ordered_units,
                line.status,
            ]
        )
    return out.getvalue()


def file_name(order_ref: str) -> str:
    """Return the file name `REFERENCE.csv`; characters except A-Z, a-z, 0-9, - and _ become -."""
    kept = "".join(c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in order_ref)
    return f"{kept or 'order'}.csv"
