"""What stands around the cards of the desk: its version, its numbers, the choices of its filters.

One statement, because each of its parts takes less time than the way to the database.
"""

from dataclasses import dataclass
from typing import Any, Final

from webui.orders.selectors import Filters as OrderFilters
from webui.orders.selectors import counted_orders
from webui.readmodel import proposal_selectors as selectors
from webui.readmodel.rows import select

Choices = list[dict[str, str]]

_CHOICES: Final = """(SELECT coalesce(jsonb_agg(jsonb_build_object('code', c.code, 'name', c.name)
    ORDER BY {order}), '[]') FROM retail.{table} c)"""


@dataclass(frozen=True, slots=True)
class Overview:
    """Counts go no further than asked; `version` changes with any proposal of the desk."""

    version: str
    open_count: int
    total: int
    drafts: int
    locations: Choices
    suppliers: Choices

    def as_context(self) -> dict[str, Any]:
        """The names that the page knows these by."""
        return {name: getattr(self, name) for name in self.__slots__}


def overview(*, view: str, location: str, supplier: str, most: int) -> Overview:
    """The overview of one drawer with these filters."""
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
