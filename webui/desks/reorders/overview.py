"""The data around the cards of the desk: version, counts, and the choices of the filters.

One statement fetches all of it, because each part takes less time than a round trip.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ledger.kernel.rows import select
from webui.desks.orders.queries import Filters as OrderFilters
from webui.desks.orders.queries import counted_orders
from webui.readmodel import proposals as selectors

Choices = list[dict[str, str]]

_CHOICES: Final = """(SELECT coalesce(jsonb_agg(jsonb_build_object('code', c.code, 'name', c.name)
    ORDER BY {order}), '[]') FROM retail.{table} c)"""


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts are capped at `most`; `version` changes with any proposal of the desk."""

    version: str
    open_count: int
    total: int
    drafts: int
    locations: Choices
    suppliers: Choices

    def as_context(self) -> Mapping[str, object]:
        """Return the values under their names in the template."""
        return {name: getattr(self, name) for name in self.__slots__}


def overview(*, view: str, location: str, supplier: str, most: int) -> Overview:
    """Return the overview of one view with these filters."""
    total = selectors.counted_reorders(view=view, location=location, supplier=supplier, most=most)
    parts = {
        "version": f"({selectors.version_sql('reorder_proposal')})",
        "open_count": f"({selectors.counted_reorders(view='open', most=most)})",
        "total": f"({total})",
        "drafts": f"({counted_orders(OrderFilters('draft'))})",
        "locations": _CHOICES.format(table="location", order="c.code"),
        "suppliers": _CHOICES.format(table="supplier", order="c.name"),
    }
    sql = "SELECT " + ", ".join(f"{part} AS {name}" for name, part in parts.items())
    [found] = select(sql, {"location": location, "supplier": supplier}, Overview)
    return found
