"""The newest price changes of all items, each with the price to which a rollback returns."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from inventory.pricing.targets import floor_minor
from ledger.kernel.rows import select

PAGE_ROWS: Final = 40

_CHANGES: Final = """
SELECT c.id, c.inv_key, c.location, c.sku, coalesce(p.name, c.sku) AS name, c.price_minor, c.kind,
       c.effective_from, c.effective_from > statement_timestamp() AS is_scheduled,
       c.recorded_at, c.recorded_by, before.price_minor AS before_minor,
       NOT EXISTS (SELECT FROM retail.price_change n WHERE n.inv_key = c.inv_key
                   AND (n.effective_from, n.id) > (c.effective_from, c.id)) AS is_newest,
       (SELECT max(n.id) FROM retail.price_change n WHERE n.inv_key = c.inv_key) AS last_id,
       i.cost_minor, i.margin_permille, i.tax_bp
FROM retail.price_change c
LEFT JOIN LATERAL (
    SELECT b.price_minor FROM retail.price_change b
    WHERE b.inv_key = c.inv_key AND (b.effective_from, b.id) < (c.effective_from, c.id)
    ORDER BY b.effective_from DESC, b.id DESC LIMIT 1
) before ON true
LEFT JOIN retail.item_location i ON i.inv_key = c.inv_key
LEFT JOIN retail.product p ON p.code = c.sku
WHERE c.kind <> 'initial' AND (%(location)s = '' OR c.location = %(location)s)
  AND (%(text)s = '' OR c.sku ILIKE %(like)s OR p.name ILIKE %(like)s)
ORDER BY c.id DESC LIMIT %(rows)s OFFSET %(start)s
"""


@dataclass(frozen=True, slots=True)
class PriceChange:
    """One written price. `before_minor` is the item's price before it, None for the first price.

    `is_newest` is True for the item's price with the latest start; of several with this start, for
    the one that was written last. `last_id` is the id of the item's price that was written last,
    whatever its start is.
    """

    id: int
    inv_key: str
    location: str
    sku: str
    name: str
    price_minor: int
    kind: str
    effective_from: datetime
    is_scheduled: bool
    recorded_at: datetime
    recorded_by: str | None
    before_minor: int | None
    is_newest: bool
    last_id: int
    cost_minor: int | None
    margin_permille: int | None
    tax_bp: int | None

    @property
    def undone_to_minor(self) -> int | None:
        """The price that a rollback would write now (domain.md 6.4); None if none is possible."""
        if not self.is_newest or self.kind == "rollback" or self.before_minor is None:
            return None
        if self.cost_minor is None or self.margin_permille is None or self.tax_bp is None:
            return None
        floor = floor_minor(self.cost_minor, self.margin_permille, self.tax_bp)
        return max(self.before_minor, floor)


def price_changes(given: dict[str, Any]) -> list[PriceChange]:
    """Return one page of changes, newest first, and one change more if another page follows.

    `given` has the filters `text` and `location`; an empty filter selects all changes. `like` is
    `text` as an SQL pattern. `start` is the number of changes to skip.
    """
    return select(_CHANGES, given | {"rows": PAGE_ROWS + 1}, PriceChange)
