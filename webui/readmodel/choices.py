"""Queries for the filters of pages: the locations and suppliers to choose from."""

from dataclasses import dataclass

from ledger.access.scope import EVERYWHERE, within
from ledger.kernel.rows import select
from webui.readmodel.alphabet import alphabetic


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a filter with its display name."""

    code: str
    name: str


def locations() -> list[Choice]:
    """Return the person's locations that have a name, ordered by code."""
    return select("SELECT code, name FROM retail.location ORDER BY code", {}, Choice)


def store_names() -> dict[str, str]:
    """Return {code: name} of `locations()`."""
    return {store.code: store.name for store in locations()}


def partners() -> list[Choice]:
    """Return all locations that have a name, also those that the person doesn't work for.

    The form of a transfer offers them as source and destination.
    """
    with within(EVERYWHERE):
        return locations()


def suppliers() -> list[Choice]:
    """Return every supplier that has a name, ordered by name."""
    sql = f"SELECT code, name FROM retail.supplier ORDER BY {alphabetic('name')}, code"  # noqa: S608 -- the SQL of a column
    return select(sql, {}, Choice)


@dataclass(frozen=True, slots=True)
class _ListedChoice(Choice):
    """A choice of the filter `location` or of the filter `supplier`."""

    filter: str


def locations_and_suppliers() -> tuple[list[Choice], list[Choice]]:
    """Return the choices of `locations()` and of `suppliers()`, both ordered by name.

    One statement reads both.
    """
    sql = f"""SELECT each.* FROM (
            SELECT l.code, l.name, 'location' AS filter FROM retail.location l
            UNION ALL SELECT s.code, s.name, 'supplier' FROM retail.supplier s) each
        ORDER BY {alphabetic("each.name")}, each.code"""  # noqa: S608 -- the SQL of a column
    by_filter: dict[str, list[Choice]] = {"location": [], "supplier": []}
    for choice in select(sql, {}, _ListedChoice):
        by_filter[choice.filter].append(choice)
    return by_filter["location"], by_filter["supplier"]
