"""Bulk inserts of products, locations and suppliers with their names; existing rows are kept.

`check_location`, `check_known` and `refuse_other_case` refuse a location or an item that a person
has mistyped, so that a typing error creates no location and no item.
"""

from collections.abc import Mapping
from typing import Final

from ledger.kernel.errors import refuse
from ledger.kernel.transactions import execute, fetch_column, fetch_value, ledger_transaction
from ledger.messages import Message, gettext_noop

UNKNOWN: Final = gettext_noop("not in the catalogue: ask for the item to be added")

# Two people may add SKUs at the same time that differ only in upper and lower case. The second
# transaction waits here until the first one has committed. So its next statement reads the SKU that
# the first transaction added.
_LOCK_LETTERS: Final = "SELECT pg_advisory_xact_lock(hashtextextended('sku ' || lower(%s), 35))"

# An SKU of the read model has facts, so it isn't new. Tills and imports may have written it.
_SAME_LETTERS: Final = """
SELECT known.sku FROM (
    SELECT code AS sku FROM retail.product UNION ALL SELECT sku FROM retail.item_location
    UNION ALL SELECT sku FROM read_model.stock WHERE sku = %s
) known WHERE lower(known.sku) = lower(%s) ORDER BY known.sku <> %s, known.sku LIMIT 1
"""

# A location with ranged items may have no row in `retail.location`. Postgres searches the items
# only if the code has no such row. The search is slow: no index begins with an item's location.
_IS_LOCATION: Final = """
SELECT EXISTS (SELECT FROM retail.location WHERE code = %s)
    OR EXISTS (SELECT FROM retail.item_location WHERE location = %s)
"""


def name_products(*, names: Mapping[str, str], department: str = "") -> int:
    """Add products, given as names by SKU; return the number of new products.

    An empty name is replaced by the SKU.
    """
    return _name("product", names, "department", value=department)


def name_locations(*, names: Mapping[str, str], kind: str = "store") -> int:
    """Add locations of one kind, given as names by code; return the number of new locations."""
    return _name("location", names, "kind", value=kind)


def name_suppliers(*, names: Mapping[str, str]) -> int:
    """Add active suppliers, given as names by code; return the number of new suppliers."""
    return _name("supplier", names, "is_active", value=True)


def _name(table: str, names: Mapping[str, str], column: str, *, value: str | bool) -> int:
    """Add rows to `retail.table`, all with the same `value` in `column`."""
    with ledger_transaction():
        return execute(
            f"INSERT INTO retail.{table} (code, name, {column})"  # noqa: S608 -- literals from above
            " SELECT code, name, %s FROM unnest(%s::text[], %s::text[]) AS given (code, name)"
            " ON CONFLICT (code) DO NOTHING",
            value,
            list(names),
            [name or code for code, name in names.items()],
        )


def is_location(code: str) -> bool:
    """Return True if `code` is the code of a location, or if an item is ranged there."""
    found: bool = fetch_value(_IS_LOCATION, code, code)
    return found


def check_location(code: str) -> None:
    """Raise `ServiceError` for a code that names no location."""
    if not is_location(code):
        refuse("location", code, "no such location: check its code")


def is_known(location: str, sku: str) -> bool:
    """Return True if `sku` is ranged at `location`, or is the code of a product."""
    known: bool = fetch_value(
        "SELECT EXISTS (SELECT FROM retail.item_location WHERE inv_key = %s)"
        " OR EXISTS (SELECT FROM retail.product WHERE code = %s)",
        f"{location}|{sku}",
        sku,
    )
    return known


def check_known(location: str, sku: str) -> None:
    """Raise `ServiceError` for an SKU that is neither ranged at `location` nor a known product."""
    if not is_known(location, sku):
        refuse("sku", sku, UNKNOWN)


def refuse_other_case(field: str, sku: str) -> None:
    """Raise `ServiceError` for a new SKU that equals a known one except for upper and lower case.

    People mix up SKUs that differ only in upper and lower case. An SKU that is known already is
    accepted. Call this in the transaction that adds the SKU. Until this transaction ends, calls of
    other transactions for an SKU with the same letters wait.
    """
    execute(_LOCK_LETTERS, sku)
    found: list[str] = fetch_column(_SAME_LETTERS, sku, sku, sku)
    if found and found[0] != sku:
        rule = Message(
            "differs from %(other)s only in upper and lower case: use %(other)s, or choose "
            "another SKU",
            other=found[0],
        )
        refuse(field, sku, rule)
