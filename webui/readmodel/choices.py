"""Queries for every page: the choices of its filters, and the freshness of its figures."""

from dataclasses import dataclass

from ledger.access.scope import EVERYWHERE, within
from ledger.kernel.rows import select


@dataclass(frozen=True, slots=True)
class Choice:
    """A value of a filter with its display name."""

    code: str
    name: str


def locations() -> list[Choice]:
    """Return the locations of the person's scope that have a name."""
    return select("SELECT code, name FROM retail.location ORDER BY code", {}, Choice)


def partners() -> list[Choice]:
    """Return all named locations. A transfer names its partner, but shows none of its figures."""
    with within(EVERYWHERE):
        return locations()


def suppliers() -> list[Choice]:
    """Return every supplier that has a name."""
    return select("SELECT code, name FROM retail.supplier ORDER BY name", {}, Choice)
