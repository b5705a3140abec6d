"""Queries of the reorders desk: numbers and filters of its table, and sources of transfers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext

from ledger.kernel.rows import select, select_value
from ledger.services import NotOrdered
from webui.desks.orders.queries import Filters as OrderFilters
from webui.desks.orders.queries import counted_orders
from webui.desks.reorders.table import PHANTOM_SQL, counted_open
from webui.readmodel import proposals as selectors
from webui.readmodel.proposals import ReorderProposal

Choices = list[dict[str, str]]

_CHOICES: Final = """(SELECT coalesce(jsonb_agg(jsonb_build_object('code', c.code, 'name', c.name)
    ORDER BY {order}), '[]') FROM retail.{table} c)"""

_MINIMUMS: Final = """(SELECT coalesce(jsonb_object_agg(code, minimum_order_minor), '{}')
    FROM retail.supplier WHERE minimum_order_minor > 0)"""

_VERSION: Final = f"""SELECT ({selectors.version_sql("reorder_proposal")}) || '/' || (
    SELECT count(*) || '-' || count(ended_at) || '-' || count(seen_at) FROM app.pending_send)"""  # noqa: S608 -- a constant of this project


@dataclass(frozen=True, slots=True)
class Overview:
    """The numbers that the page shows with the table of needs, and the choices of its filters.

    `version` changes when any need or send changes. `minimums` has the minimum order value of each
    supplier that has one, in minor units.
    """

    version: str
    open_count: int
    total: int
    drafts: int
    locations: Choices
    suppliers: Choices
    minimums: Mapping[str, int]

    def as_context(self) -> Mapping[str, object]:
        """Return the values under their names in the template."""
        return {name: getattr(self, name) for name in self.__slots__}


def overview(*, view: str, location: str, supplier: str, most: int) -> Overview:
    """Return the overview of one view with these filters.

    The numbers of needs are capped at `most`, and the number of draft orders at 1,000. One
    statement fetches all values, in one round trip to Postgres instead of one for each value.
    """
    total = selectors.counted_reorders(view=view, location=location, supplier=supplier, most=most)
    parts = {
        "version": f"({_VERSION})",
        "open_count": f"({counted_open(most=most)})",
        "total": f"({total})",
        "drafts": f"({counted_orders(OrderFilters('draft'))})",
        "locations": _CHOICES.format(table="location", order="c.code"),
        "suppliers": _CHOICES.format(table="supplier", order="c.name"),
        "minimums": _MINIMUMS,
    }
    sql = "SELECT " + ", ".join(f"{part} AS {name}" for name, part in parts.items())
    [found] = select(sql, {"location": location, "supplier": supplier}, Overview)
    return found


def desk_version() -> str:
    """Return a text that changes when any need or send changes."""
    return str(select_value(_VERSION))


@dataclass(frozen=True, slots=True)
class _Named:
    reorder_id: str
    item: str
    location: str | None

    @property
    def name(self) -> str:
        """Item and location in words: `Kettle at Dublin`; the id if there is no such need."""
        if self.location is None:
            return self.item
        return gettext("%(name)s at %(location)s") % {"name": self.item, "location": self.location}


@dataclass(frozen=True, slots=True)
class Reported:
    """A reason for which needs could not be ordered, and these needs."""

    reason: str
    needs: list[_Named]


_NAMED: Final = """
SELECT r.reorder_id, coalesce(p.name, r.sku) AS item, coalesce(lo.name, r.location) AS location
FROM app.reorder_proposal r LEFT JOIN retail.product p ON p.code = r.sku
LEFT JOIN retail.location lo ON lo.code = r.location WHERE r.reorder_id = ANY(%(ids)s)
"""


def names_of(report: Sequence[NotOrdered]) -> list[Reported]:
    """Return the needs that were not ordered, with the names of their items, grouped by reason."""
    if not report:
        return []
    ids = [one.reorder_id for one in report]
    names = {row.reorder_id: row for row in select(_NAMED, {"ids": ids}, _Named)}
    found: dict[str, Reported] = {}
    for one in report:
        named = names.get(one.reorder_id, _Named(one.reorder_id, one.reorder_id, None))
        found.setdefault(one.reason, Reported(one.reason, [])).needs.append(named)
    return list(found.values())


def name_of(reorder_id: str) -> str:
    """Return item and location of a need in words, or its id if there is no such need."""
    found = select(_NAMED, {"ids": [reorder_id]}, _Named)
    return found[0].name if found else reorder_id


def is_phantom_suspect(inv_key: str) -> bool:
    """Return True if an open task asks to count the item because it may be missing."""
    return bool(select_value(f"SELECT {PHANTOM_SQL.format(key='%(key)s')}", {"key": inv_key}))


def order_of(reorder_id: str) -> str:
    """Return the `order_ref` of the order that answered a need, or an empty text."""
    return str(
        select_value(
            "SELECT coalesce((SELECT l.order_ref FROM retail.purchase_order_line l"
            " WHERE l.reorder_id = %(id)s), '')",
            {"id": reorder_id},
        )
    )


MOST_SOURCES: Final = 5


@dataclass(frozen=True, slots=True)
class Source:
    """Units of one item that a location can spare."""

    sku: str
    location: str
    name: str
    units: int


# A location can spare units that are available to sell, as long as its base position stays above
# the reorder point. So a transfer of these units opens no need there. Units that it must send by
# planned transfers are subtracted.
_SPARE: Final = """
SELECT s.sku, s.location, coalesce(l.name, s.location) AS name, spare.units
FROM read_model.stock s
LEFT JOIN retail.location l ON l.code = s.location
CROSS JOIN LATERAL (
    SELECT (least(s.available_to_sell_units, CASE
        WHEN s.policy_active AND s.reorder_point_units IS NOT NULL
            THEN s.base_position_units - s.reorder_point_units - 1
        ELSE s.available_to_sell_units END)
        - coalesce((SELECT sum(t.planned_units) FROM retail.shipment_line t
                    WHERE t.inv_key = s.inv_key AND t.leg = 'transfer_out'
                      AND t.status = 'planned'), 0))::bigint AS units
) spare
WHERE s.sku = ANY(%(skus)s) AND s.stock_known AND s.available_to_sell_units > 0 AND spare.units > 0
ORDER BY s.sku, spare.units DESC, s.location
"""


def sources_of(needs: Sequence[ReorderProposal]) -> dict[str, list[Source]]:
    """Return {id of a need: up to five other locations with spare units, most units first}."""
    if not needs:
        return {}
    found = select(_SPARE, {"skus": sorted({need.sku for need in needs})}, Source)
    return {
        need.reorder_id: [
            source
            for source in found
            if source.sku == need.sku and source.location != need.location
        ][:MOST_SOURCES]
        for need in needs
    }
