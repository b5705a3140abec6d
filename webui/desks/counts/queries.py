"""Queries of the counting desk: a person's sheets, drafts that wait for approval, past counts.

`app.expected_at` computes expected units as a sum over the ledger's facts. So a late fact changes
them as soon as it is committed. The pages for counting don't show expected units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from ledger.kernel.rows import select, select_one, select_value


@dataclass(frozen=True, slots=True)
class Sheet:
    """A counting sheet, and the sums of its entries."""

    id: int
    location: str
    location_name: str
    opened_by: str
    opened_at: datetime
    submitted_at: datetime | None
    items: int
    units: int
    entries: int


_SHEET: Final = """
SELECT s.id, s.location, coalesce(lo.name, s.location) AS location_name, s.opened_by,
       s.opened_at, s.submitted_at, e.items, e.units, e.entries
FROM app.count_sheet s
LEFT JOIN retail.location lo ON lo.code = s.location
CROSS JOIN LATERAL (
    SELECT count(DISTINCT sku) AS items, coalesce(sum(units), 0)::bigint AS units,
           count(*) AS entries
    FROM app.count_entry WHERE sheet_id = s.id AND NOT is_undone) e
"""


def sheet(sheet_id: int) -> Sheet | None:
    """Return the sheet with this id, or None."""
    return select_one(f"{_SHEET} WHERE s.id = %(id)s", {"id": sheet_id}, Sheet)


def open_sheets(person: str) -> list[Sheet]:
    """Return up to 20 open sheets of this person, newest first."""
    sql = f"""{_SHEET} WHERE s.opened_by = %(person)s AND s.submitted_at IS NULL
              ORDER BY s.id DESC LIMIT 20"""
    return select(sql, {"person": person}, Sheet)


@dataclass(frozen=True, slots=True)
class WaitingSheet:
    """A submitted sheet, and the number of its counts that wait for approval."""

    id: int
    location_name: str
    submitted_at: datetime
    waiting: int


def waiting_sheets(person: str) -> list[WaitingSheet]:
    """Return up to 20 sheets of this person with counts that wait for approval, newest first."""
    sql = """
        SELECT s.id, coalesce(lo.name, s.location) AS location_name, s.submitted_at,
               count(*) AS waiting
        FROM retail.stock_count c JOIN app.count_sheet s ON s.id = c.sheet_id
        LEFT JOIN retail.location lo ON lo.code = s.location
        WHERE c.status = 'draft' AND c.counted_by = %(person)s AND s.submitted_at IS NOT NULL
        GROUP BY s.id, s.location, s.submitted_at, lo.name ORDER BY s.id DESC LIMIT 20
        """
    return select(sql, {"person": person}, WaitingSheet)


@dataclass(frozen=True, slots=True)
class SheetEntry:
    """One entry of a sheet; `count_id` is None until the sheet is submitted."""

    entry_id: str
    sku: str
    units: int
    counted_at: datetime
    count_id: int | None


def entries(sheet_id: int, sku: str) -> list[SheetEntry]:
    """Return the newest 50 entries of one item of a sheet, newest first."""
    sql = """
        SELECT e.entry_id::text, e.sku, e.units, e.counted_at, e.count_id
        FROM app.count_entry e
        WHERE e.sheet_id = %(sheet)s AND e.sku = %(sku)s AND NOT e.is_undone
        ORDER BY e.number DESC LIMIT 50
        """
    return select(sql, {"sheet": sheet_id, "sku": sku}, SheetEntry)


@dataclass(frozen=True, slots=True)
class Tally:
    """The sum of one item's entries on a sheet.

    `is_handed_in` is True if all entries are submitted. `is_ranged` is False for an item without a
    policy at the sheet's location. Such an item has no price and no reorder rule, but its units
    exist and are counted.
    """

    sku: str
    name: str
    units: int
    entries: int
    is_handed_in: bool
    is_ranged: bool


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry as stored: the SKU in place of the scanned code, units in place of cases."""

    id: str
    sku: str
    units: int


def stored(sheet_id: int, entry_ids: Sequence[UUID]) -> list[StoredEntry]:
    """Return the entries of a sheet with these ids, as they are stored."""
    sql = """SELECT e.entry_id::text AS id, e.sku, e.units FROM app.count_entry e
             WHERE e.sheet_id = %(sheet)s AND e.entry_id = ANY(%(ids)s)"""
    return select(sql, {"sheet": sheet_id, "ids": list(entry_ids)}, StoredEntry)


def tallies(sheet_id: int) -> list[Tally]:
    """Return the sums of up to 500 items of a sheet. The item that was counted last comes first."""
    sql = """
        SELECT e.sku, coalesce(max(p.name), e.sku) AS name, sum(e.units)::bigint AS units,
               count(*) AS entries, bool_and(e.count_id IS NOT NULL) AS is_handed_in,
               count(il.inv_key) > 0 AS is_ranged
        FROM app.count_entry e JOIN app.count_sheet s ON s.id = e.sheet_id
        LEFT JOIN retail.product p ON p.code = e.sku
        LEFT JOIN retail.item_location il ON il.inv_key = s.location || '|' || e.sku
        WHERE e.sheet_id = %(sheet)s AND NOT e.is_undone
        GROUP BY e.sku ORDER BY max(e.number) DESC LIMIT 500
        """
    return select(sql, {"sheet": sheet_id}, Tally)


@dataclass(frozen=True, slots=True)
class ItemToRecount:
    """An item that needs a second count. Its expected units are left out: the count is blind."""

    location: str
    sku: str
    name: str
    counted_at: datetime


@dataclass(frozen=True, slots=True)
class WaitingCount:
    """A count that waits for approval, and the effect of its approval on stock.

    `first_units` and `first_by` are the units and the person of the first count, if this is a
    second count. `is_before_count` is True if a later count is approved already. An approval then
    changes only variances, and not on-hand (docs/domain.md 2.4). `is_over` is True if a second
    blind count is needed before approval.
    """

    id: int
    inv_key: str
    location: str
    sku: str
    name: str
    kind: str
    units: int
    counted_by: str | None
    counted_at: datetime
    recount_of: int | None
    first_units: int | None
    first_by: str | None
    recount_asked: bool
    expected_units: int
    stock_known: bool
    tolerance_units: int
    is_over: bool
    on_hand_units: int
    is_before_count: bool
    cost_minor: int | None

    @property
    def id_text(self) -> str:
        """The id as text, for ids of elements on the page."""
        return str(self.id)

    @property
    def variance_units(self) -> int:
        """Counted units minus expected units."""
        return self.units - self.expected_units

    @property
    def value_minor(self) -> int | None:
        """The variance times the cost, in minor currency units; None if the cost is unknown."""
        return None if self.cost_minor is None else self.variance_units * self.cost_minor

    @property
    def after_units(self) -> int:
        """On-hand after approval of this count: its units plus the movements since its time.

        On-hand stays as it is if a later count is approved already.
        """
        return self.on_hand_units + (0 if self.is_before_count else self.variance_units)

    @property
    def moved_since_units(self) -> int | None:
        """Net movement since the time of the count, None if a later count is approved already."""
        return None if self.is_before_count else self.on_hand_units - self.expected_units


_IS_OVER_SQL: Final = """(c.recount_asked OR (e.stock_known AND c.recount_of IS NULL
    AND abs(c.units - e.expected_units) > app.count_tolerance(e.expected_units)))"""
# `app.expected_at` returns the expected units at a time. For the time `infinity`, it
# returns on-hand now.
WAITING_COLUMNS: Final = f"""
SELECT c.id, c.inv_key, c.location, c.sku, coalesce(p.name, c.sku) AS name, c.kind, c.units,
       c.counted_by, t.at AS counted_at, c.recount_of, f.units AS first_units,
       f.counted_by AS first_by, c.recount_asked, e.expected_units, e.stock_known,
       app.count_tolerance(e.expected_units) AS tolerance_units,
       {_IS_OVER_SQL} AS is_over,
       today.expected_units AS on_hand_units,
       EXISTS (SELECT FROM retail.approved_count a WHERE a.inv_key = c.inv_key
           AND (a.business_at, a.row_id) > (t.at, c.id)) AS is_before_count,
       nullif(il.cost_minor, 0) AS cost_minor
"""  # noqa: S608 -- the condition above
_EXPECTED_FROM: Final = """
FROM retail.stock_count c
CROSS JOIN LATERAL (SELECT retail.business_at(c.occurred_at, c.recorded_at) AS at) t
CROSS JOIN LATERAL app.expected_at(c.inv_key, t.at, c.id) e
LEFT JOIN retail.product p ON p.code = c.sku
"""
WAITING_FROM: Final = f"""
{_EXPECTED_FROM}
CROSS JOIN LATERAL app.expected_at(c.inv_key, 'infinity', 9223372036854775807) today
LEFT JOIN retail.stock_count f ON f.id = c.recount_of
LEFT JOIN retail.item_location il ON il.inv_key = c.inv_key
"""
IS_WAITING_SQL: Final = "c.status = 'draft' AND (%(location)s = '' OR c.location = %(location)s)"


def waiting_counts(
    *, location: str = "", after: tuple[str, int] = ("", 0), rows: int = 100
) -> list[WaitingCount]:
    """Return up to `rows` counts that wait for approval, ordered by location and id.

    `after` is the location and id of the last count of the previous page. An empty `location`
    selects all locations.
    """
    sql = f"""{WAITING_COLUMNS} {WAITING_FROM} WHERE {IS_WAITING_SQL}
        AND (c.location, c.id) > (%(after)s, %(after_id)s)
        ORDER BY c.location, c.id LIMIT %(rows)s"""
    given = {"location": location, "after": after[0], "after_id": after[1], "rows": rows}
    return select(sql, given, WaitingCount)


def items_to_recount(*, location: str = "") -> list[ItemToRecount]:
    """Return up to 100 items that need a second blind count, without their expected units."""
    sql = f"""SELECT c.location, c.sku, coalesce(p.name, c.sku) AS name, t.at AS counted_at
        {_EXPECTED_FROM} WHERE {IS_WAITING_SQL} AND {_IS_OVER_SQL}
        ORDER BY c.location, c.id LIMIT 100"""
    return select(sql, {"location": location}, ItemToRecount)


@dataclass(frozen=True, slots=True)
class RecountTotal:
    """The number of items that need a second blind count, and the time of the oldest first count.

    The time is None if there are no such items.
    """

    items: int
    oldest: datetime | None


def recount_total(*, location: str = "") -> RecountTotal:
    """Return the total of all items that need a second blind count."""
    sql = f"""SELECT count(*)::int AS items, min(t.at) AS oldest
        {_EXPECTED_FROM} WHERE {IS_WAITING_SQL} AND {_IS_OVER_SQL}"""
    return select_one(sql, {"location": location}, RecountTotal) or RecountTotal(0, None)


@dataclass(frozen=True, slots=True)
class CountInHistory:
    """An approved or voided count.

    `then_units` are the expected units at its approval; None if no record of them exists.
    `now_units` are its expected units by all facts until now.
    """

    id: int
    location: str
    sku: str
    name: str
    kind: str
    status: str
    units: int
    counted_at: datetime
    counted_by: str | None
    approved_by: str | None
    recorded_by: str | None
    then_units: int | None
    now_units: int
    stock_known: bool
    cost_minor: int | None
    is_voidable: bool
    voided_by: str | None
    voided_at: datetime | None
    void_reason: str | None
    mark: str

    @property
    def key(self) -> int:
        """The id of the count, by which the paged list identifies the row."""
        return self.id

    @property
    def is_replaced(self) -> bool:
        """True for a draft that became void when its item was counted again (`submit_sheet`)."""
        return self.status == "void" and self.approved_by is None and self.voided_at is None

    @property
    def variance_then_units(self) -> int | None:
        """The variance that the approver saw; None if no record of it exists."""
        return None if self.then_units is None else self.units - self.then_units

    @property
    def variance_now_units(self) -> int:
        """The variance restated with all facts until now."""
        return self.units - self.now_units

    @property
    def is_restated(self) -> bool:
        """True if late facts have changed the variance since approval."""
        return self.then_units is not None and self.then_units != self.now_units

    @property
    def value_minor(self) -> int | None:
        """The restated variance at cost, in minor units.

        None if the cost is unknown, or for an opening count, whose variance is no loss.
        """
        if self.cost_minor is None or self.kind == "opening":
            return None
        return self.variance_now_units * self.cost_minor


def waiting_count() -> int:
    """Return the sum of waiting counts and waiting adjustments, each number capped at 100."""
    return int(
        select_value(
            "SELECT (SELECT count(*) FROM (SELECT FROM retail.stock_count WHERE status = 'draft'"
            " LIMIT 100) c) + (SELECT count(*) FROM (SELECT FROM app.adjustment_request"
            " WHERE status = 'waiting' LIMIT 100) r)"
        )
    )
