"""Names of products, locations and suppliers; what is named already keeps its name.

What people type by hand is looked up here first: a slip of the pen is no item.
"""

from collections.abc import Mapping

from webui.ledger.services.errors import refuse
from webui.ledger.services.transactions import execute, fetch_value, ledger_transaction


def name_products(*, names: Mapping[str, str], department: str = "") -> int:
    """Add products by code; how many are new. A product without a name is called by its code."""
    return _name("product", names, "department", value=department)


def name_locations(*, names: Mapping[str, str], kind: str = "store") -> int:
    """Add stores, or warehouses, by code; how many are new."""
    return _name("location", names, "kind", value=kind)


def name_suppliers(*, names: Mapping[str, str]) -> int:
    """Add suppliers by code; how many are new."""
    return _name("supplier", names, "is_active", value=True)


def _name(table: str, names: Mapping[str, str], column: str, *, value: str | bool) -> int:
    """Add rows that have one value in common; names and columns are those of the tables above."""
    with ledger_transaction():
        return execute(
            f"INSERT INTO retail.{table} (code, name, {column})"  # noqa: S608 -- literals from above
            " SELECT code, name, %s FROM unnest(%s::text[], %s::text[]) AS given (code, name)"
            " ON CONFLICT (code) DO NOTHING",
            value,
            list(names),
            [name or code for code, name in names.items()],
        )


def check_known(location: str, sku: str) -> None:
    """Raise `ServiceError` for an item that is neither ranged there nor in the catalogue."""
    known = fetch_value(
        "SELECT EXISTS (SELECT FROM retail.item_location WHERE inv_key = %s)"
        " OR EXISTS (SELECT FROM retail.product WHERE code = %s)",
        f"{location}|{sku}",
        sku,
    )
    if not known:
        refuse("sku", sku, "not in the catalogue: ask for the item to be added")
