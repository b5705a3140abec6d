"""Names of items, stores and suppliers, for headings and for messages to staff.

For a code without a name, each function returns the code itself.
"""

from typing import Final

from django.utils.translation import gettext

from ledger.access.scope import EVERYWHERE, within
from ledger.kernel.rows import select_value

_NAME: Final = "SELECT coalesce((SELECT name FROM retail.{} WHERE code = %(code)s), %(code)s)"


def item_name(sku: str) -> str:
    """Return the name of an item."""
    return _name("product", sku)


def supplier_name(code: str) -> str:
    """Return the name of a supplier."""
    return _name("supplier", code)


def store_name(code: str) -> str:
    """Return the name of a location, also of one outside the person's stores."""
    with within(EVERYWHERE):
        return _name("location", code)


def item_at_store(sku: str, location: str) -> str:
    """Return the names of an item and its location: `Kettle at Dublin`."""
    named = {"name": item_name(sku), "location": store_name(location)}
    return gettext("%(name)s at %(location)s") % named


def _name(table: str, code: str) -> str:
    return str(select_value(_NAME.format(table), {"code": code}))
