"""The lists of counts: drafts (counts that wait for approval) and past counts, page by page.

The expected units of a count are a sum over the facts of its item. They are computed only for the
counts of one page, so the list can't be sorted by variance.
"""

from dataclasses import dataclass
from typing import Any, Final

from ledger.kernel.checks import CORRECTABLE_FOR
from ledger.kernel.rows import select, select_value
from ledger.messages import gettext_noop
from webui.desks.counts.queries import (
    IS_WAITING_SQL,
    WAITING_COLUMNS,
    WAITING_FROM,
    CountInHistory,
    WaitingCount,
)
from webui.readmodel.alphabet import alphabetic
from webui.shell.keyset import MOST_SUMMED, Keys, Page, Place, Sortable, cut, parameters
from webui.shell.listing import Column, Sort

_AT: Final = "retail.business_at(c.occurred_at, c.recorded_at)"
_SORTABLE: Final = {
    "item": Sortable(alphabetic("coalesce(p.name, c.sku)")),
    "store": Sortable(alphabetic("coalesce(lo.name, c.location)")),
    "at": Sortable(_AT, "timestamptz"),
    "by": Sortable("lower(coalesce(c.counted_by, c.recorded_by, ''))"),
    "units": Sortable("c.units", "bigint"),
    # Ids rise in the order in which counts were written. An index makes this sort fast.
    "number": Sortable("c.id", "bigint"),
}
WAITING: Final = Keys(_SORTABLE, key="c.id", default=Sort("store"))
HISTORY: Final = Keys(_SORTABLE, key="c.id", default=Sort("number", descending=True))
WAITING_HEADS: Final = (
    Column("item", gettext_noop("Item")),
    Column("store", gettext_noop("Store")),
    Column("at", gettext_noop("Counted at")),
    Column("by", gettext_noop("By")),
    Column("units", gettext_noop("Counted"), "n", largest_first=True),
    Column("", gettext_noop("Expected"), "n"),
    Column("", gettext_noop("Variance"), "n"),
    Column("", gettext_noop("Worth"), "n"),
    Column("", gettext_noop("Decision"), "do", is_hidden=True),
)
HISTORY_HEADS: Final = (
    Column("item", gettext_noop("Item")),
    Column("store", gettext_noop("Store")),
    Column("at", gettext_noop("Counted at"), largest_first=True),
    Column("number", gettext_noop("Count"), largest_first=True),
    Column("units", gettext_noop("Counted"), "n", largest_first=True),
    Column("", gettext_noop("Expected"), "n"),
    Column("", gettext_noop("Variance then"), "n wraps"),
    Column("", gettext_noop("Variance now"), "n wraps"),
    Column("", gettext_noop("Worth now"), "n wraps"),
    Column("by", gettext_noop("By"), "wraps"),
    Column("", gettext_noop("Details"), "do", is_hidden=True),
)
_NAMED: Final = """FROM retail.stock_count c
    LEFT JOIN retail.product p ON p.code = c.sku
    LEFT JOIN retail.location lo ON lo.code = c.location"""
_IS_PAST: Final = """c.status <> 'draft' AND (%(location)s = '' OR c.location = %(location)s)
    AND (%(sku)s = '' OR c.sku = %(sku)s)"""


@dataclass(frozen=True, slots=True)
class ListedCount(WaitingCount):
    """A waiting count on a page; `mark` is its value in the sorted column."""

    mark: str

    @property
    def key(self) -> int:
        """The id of the count, by which the paged list identifies the row."""
        return self.id


def waiting_page(place: Place, *, location: str) -> Page[ListedCount]:
    """Return one page of the counts that wait for approval."""
    shown = WAITING.shown_sql(f"{_NAMED} WHERE {IS_WAITING_SQL}", place)
    sql = f"""WITH shown AS ({shown}) {WAITING_COLUMNS}, shown.mark {WAITING_FROM}
        JOIN shown ON shown.key = c.id ORDER BY shown.place"""
    return cut(select(sql, {"location": location, **parameters(place)}, ListedCount), place)


def waiting_number(*, location: str) -> int:
    """Return the number of counts that wait for approval, capped at 10,001."""
    few = f"SELECT FROM retail.stock_count c WHERE {IS_WAITING_SQL} LIMIT {MOST_SUMMED + 1}"
    return int(select_value(f"SELECT count(*) FROM ({few}) few", {"location": location}))  # noqa: S608 -- the line above


_COUNTED: Final = """
SELECT c.id, c.location, c.sku, coalesce(p.name, c.sku) AS name, c.kind, c.status, c.units,
       t.at AS counted_at, c.counted_by, c.approved_by, c.recorded_by,
       c.expected_units AS then_units, e.expected_units AS now_units, e.stock_known,
       nullif(il.cost_minor, 0) AS cost_minor,
       c.status = 'approved' AND t.at >= now() - %(correctable)s AS is_voidable,
       voided.actor AS voided_by, voided.at AS voided_at, voided.reason AS void_reason,
       shown.mark
FROM shown JOIN retail.stock_count c ON c.id = shown.key
CROSS JOIN LATERAL (SELECT retail.business_at(c.occurred_at, c.recorded_at) AS at) t
CROSS JOIN LATERAL app.expected_at(c.inv_key, t.at, c.id) e
LEFT JOIN retail.product p ON p.code = c.sku
LEFT JOIN retail.item_location il ON il.inv_key = c.inv_key
LEFT JOIN LATERAL (
    SELECT actor, at, detail ->> 'reason' AS reason FROM app.action_log
    WHERE c.status = 'void' AND subject = c.inv_key AND action = 'void_count'
      AND (detail ->> 'count')::bigint = c.id
    ORDER BY id DESC LIMIT 1
) voided ON true
ORDER BY shown.place
"""


def history_page(place: Place, *, location: str = "", sku: str = "") -> Page[CountInHistory]:
    """Return one page of the approved and voided counts."""
    shown = HISTORY.shown_sql(f"{_NAMED} WHERE {_IS_PAST}", place)
    given: dict[str, Any] = {"location": location, "sku": sku, "correctable": CORRECTABLE_FOR}
    sql = f"WITH shown AS ({shown}) {_COUNTED}"
    return cut(select(sql, given | parameters(place), CountInHistory), place)


def history_number(*, location: str, sku: str) -> int:
    """Return the number of approved and voided counts, capped at 10,001."""
    few = f"SELECT FROM retail.stock_count c WHERE {_IS_PAST} LIMIT {MOST_SUMMED + 1}"
    given = {"location": location, "sku": sku}
    return int(select_value(f"SELECT count(*) FROM ({few}) few", given))  # noqa: S608 -- the line above
