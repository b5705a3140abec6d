"""Queries of one item's prices: the timeline, the limits, the prior price of a reduction."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from inventory.model import price_timeline
from inventory.pricing.targets import floor_minor
from ledger.kernel.rows import select, select_one
from webui.readmodel.history import timeline

MOST_ROWS: Final = 200
_TIMELINE: Final = """
WITH timeline AS (
    SELECT *, lead(effective_from) OVER (ORDER BY effective_from, id) AS ends_at,
           row_number() OVER (ORDER BY effective_from DESC, id DESC) AS newness
    FROM retail.price_change WHERE inv_key = %(key)s
)
SELECT id, effective_from, price_minor, floor_minor, step, kind, proposal_id, recorded_by,
       recorded_at, newness = 1 AS is_newest,
       effective_from > statement_timestamp() AND ends_at IS DISTINCT FROM effective_from
           AS is_scheduled,
       id IS NOT DISTINCT FROM (
           SELECT force.id FROM retail.price_at(%(key)s, statement_timestamp()) AS force
       ) AS is_in_force,
       ends_at IS NOT DISTINCT FROM effective_from AS is_undone
FROM timeline ORDER BY newness LIMIT %(most)s
"""
# Prices with the same start replace each other. So only the one written last is ever in force.
_FOLLOWING: Final = """
SELECT later.price_minor, later.effective_from
FROM retail.price_change AS written
JOIN retail.price_change AS later ON later.inv_key = written.inv_key
    AND (later.effective_from, later.id) > (written.effective_from, written.id)
WHERE written.id = %(id)s
ORDER BY later.effective_from, later.id DESC LIMIT 1
"""
_ITEM: Final = """
SELECT item.location, item.sku, coalesce(product.name, item.sku) AS name, item.cost_minor,
       item.margin_permille, item.tax_bp, item.regular_minor, item.price_mode,
       item.prior_rule
FROM retail.item_location AS item
LEFT JOIN retail.product AS product ON product.code = item.sku
WHERE item.inv_key = %(key)s
"""


@dataclass(frozen=True, slots=True)
class PriceRow:
    """A row of the timeline.

    If `is_undone`, a price with the same `effective_from` was written later and replaces this one.
    """

    id: int
    effective_from: datetime
    price_minor: int
    floor_minor: int
    step: int
    kind: str
    proposal_id: str | None
    recorded_by: str | None
    recorded_at: datetime
    is_newest: bool
    is_scheduled: bool
    is_in_force: bool
    is_undone: bool


@dataclass(frozen=True, slots=True)
class FollowingPrice:
    """A scheduled price that replaces another one, and the time from which it is in force."""

    price_minor: int
    effective_from: datetime


@dataclass(frozen=True, slots=True)
class PricedItem:
    """The limits of an item's prices."""

    location: str
    sku: str
    name: str
    cost_minor: int
    margin_permille: int
    tax_bp: int
    regular_minor: int | None
    price_mode: str
    prior_rule: str

    @property
    def floor_minor(self) -> int:
        """Lowest price that cost, margin and tax allow now."""
        return floor_minor(self.cost_minor, self.margin_permille, self.tax_bp)


def price_rows(inv_key: str) -> list[PriceRow]:
    """Return the newest 200 rows of a key's timeline, the newest first."""
    return select(_TIMELINE, {"key": inv_key, "most": MOST_ROWS}, PriceRow)


def priced_item(inv_key: str) -> PricedItem | None:
    """Return the limits of the prices of a ranged item; None if the item is not ranged."""
    return select_one(_ITEM, {"key": inv_key}, PricedItem)


def prior_prices(inv_key: str, *, prior_rule: str) -> dict[int, int | None]:
    """Return {row id: prior price} for the reductions among the newest 200 rows of the timeline.

    The prior price is the lowest price of the 30 days before the reduction, in minor units. With
    the rule `progressive`, these are the 30 days before the first of several reductions in a row.
    The prior price is None if no price was in force in these days.
    """
    whole = timeline(inv_key)
    found = {}
    for row in whole[-MOST_ROWS:]:
        # Leave out rows that start at the same time: such rows replace each other, so none of them
        # was in force before this row.
        from_us = row.effective_from_us
        before = tuple(each for each in whole if each.effective_from_us < from_us)
        old = before[-1] if before else None
        if old is not None and row.price_minor < old.price_minor:
            found[row.id] = price_timeline.prior_price(
                before, from_us, progressive=prior_rule == "progressive"
            )
    return found


def undone_to_minor(rows: Sequence[PriceRow], regular_minor: int | None, floor: int) -> int | None:
    """Return the price that a rollback would write; None if there is nothing to roll back.

    `rows` are the newest rows of the timeline, newest first; `floor` is the current price floor.
    """
    if not rows or rows[0].kind == "rollback":
        return None
    if rows[1:]:
        return max(rows[1].price_minor, floor)
    if rows[0].kind == "initial" or regular_minor is None:
        return None
    return max(regular_minor, floor)


def last_id(rows: Sequence[PriceRow]) -> int:
    """Return the id of the price that was written last, 0 without rows.

    A form sends this id. The ledger refuses the form if a newer price exists. Rows are ordered by
    their start, so the first row can have a smaller id: a price may be written after a scheduled
    price, but start before it.
    """
    return max((row.id for row in rows), default=0)


def following_price(price_id: int) -> FollowingPrice | None:
    """Return the scheduled price that replaces the price `price_id`, or None."""
    return select_one(_FOLLOWING, {"id": price_id}, FollowingPrice)
