"""Names of products, locations and suppliers; what is named already keeps its name."""

from collections.abc import Mapping

from webui.ledger.services.transactions import execute, ledger_transaction


def name_products(*, names: Mapping[str, str]) -> int:
    """Add products by code; how many are new. A product without a name is called by its code."""
    return _name("product", names)


def name_locations(*, names: Mapping[str, str]) -> int:
    """Add locations by code; how many are new."""
    return _name("location", names)


def name_suppliers(*, names: Mapping[str, str]) -> int:
    """Add suppliers by code; how many are new."""
    return _name("supplier", names)


def _name(table: str, names: Mapping[str, str]) -> int:
    with ledger_transaction():
        return execute(
            f"INSERT INTO retail.{table} (code, name)"  # noqa: S608 -- one of the three tables above
            " SELECT * FROM unnest(%s::text[], %s::text[]) ON CONFLICT (code) DO NOTHING",
            list(names),
            [name or code for code, name in names.items()],
        )
