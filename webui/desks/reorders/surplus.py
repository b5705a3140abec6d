"""Other locations that can send the units of a need without running short themselves."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ledger.kernel.rows import select
from webui.readmodel.proposals import ReorderProposal

MOST_SOURCES: Final = 5


@dataclass(frozen=True, slots=True)
class Source:
    """Units of one item that a location can spare."""

    sku: str
    location: str
    name: str
    units: int


# Available-to-sell units, as long as the base position stays above the reorder point: sending them
# opens no need at the source. Units of planned transfers are subtracted.
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
    """Return for each need, by its id, at most five other locations, most spare units first."""
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
