"""Queries of the stock list: rows of the read model with names, prices and policies, in pages.

A page begins after a given row. `webui.readmodel.explain` has the facts of one key.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from cdc.contracts.topics import ON_HAND_CHANGELOG
from inventory.model.arithmetic import DAY_US, HOUR_US
from inventory.reports.sales_spans import last_hop_end_us
from ledger.kernel.rows import select
from webui.readmodel.alphabet import alphabetic
from webui.readmodel.figures import PRICE_SQL, PRICED_AT_SQL, STATUS_SQL, STATUSES, Covered
from webui.readmodel.stock_filters import (
    KEY_SQL,
    LISTED_SQL,
    ORDERS,
    RATE_SQL,
    UNBOUNDED,
    Filters,
    conditions,
)

PAGE_ROWS: Final = 50
# The largest number of rows for sums, and for a list sorted by a column. Both read every row.
# 10,000 rows take about 0.1 s.
MOST_SUMMED: Final = 10_000


@dataclass(frozen=True, slots=True)
class StockRow(Covered):
    """One key on the stock list; `status` is one of `figures.STATUSES`.

    `as_of_us` is the commit time of the newest record of the key's partition that the read model
    includes; heartbeats count as records. `price_minor` comes from the ledger. It is in force at
    `priced_at_us`, usually a little after `as_of_us`. Both times are in µs since 1970 UTC.
    """

    inv_key: str
    location: str
    sku: str
    name: str
    supplier: str | None
    on_hand_units: int
    available_to_sell_units: int
    in_transit_units: int
    on_order_units: int
    stock_known: bool
    status: str
    rate_micro: int
    price_minor: int | None
    priced_at_us: int
    generation: int
    partition: int
    offset: int
    as_of_us: int


@dataclass(frozen=True, slots=True)
class Order:
    """The sort order of the stock list.

    `column` is a name in `ORDERS`. An empty `column` sorts by location and SKU.
    """

    column: str = ""
    descending: bool = False


BY_KEY: Final = Order()


@dataclass(frozen=True, slots=True)
class Place:
    """A position in an ordered list: after the row with this key, or before it if `backwards`.

    `value` is the row's value in the sorted column. Without a key, this is the start of the list.
    """

    inv_key: str = ""
    value: str = ""
    backwards: bool = False


START: Final = Place()


@dataclass(frozen=True, slots=True)
class StockPage:
    """Rows in list order; `has_next` and `has_previous` are True if rows follow or precede."""

    rows: list[StockRow]
    has_next: bool
    has_previous: bool

    @property
    def next_after(self) -> str | None:
        """The key of the last row if rows follow it, else None."""
        return self.rows[-1].inv_key if self.has_next and self.rows else None


_ROW: Final = f"""
SELECT s.inv_key, s.location, s.sku, coalesce(p.name, s.sku) AS name, il.supplier,
       s.on_hand_units, s.available_to_sell_units, s.in_transit_units, s.on_order_units,
       s.stock_known, {STATUS_SQL} AS status,
       {RATE_SQL} AS rate_micro,
       {PRICE_SQL} AS price_minor, {PRICED_AT_SQL} AS priced_at_us,
       s.generation, s.partition, s."offset", greatest(at.as_of_us, s.as_of_us) AS as_of_us
FROM read_model.stock s
LEFT JOIN read_model.sink_position at
    ON at.sink = 'projector' AND at.topic = '{ON_HAND_CHANGELOG}' AND at.partition = s.partition
LEFT JOIN retail.product p ON p.code = s.sku
LEFT JOIN retail.item_location il ON il.inv_key = s.inv_key
"""  # noqa: S608 -- status and price are constants of this project


# The inner query selects the keys of the page, and the outer query reads their other values. A sort
# by a column reads every key. So the inner query uses only columns of the index `stock_list`, which
# has no `inv_key`.
_PAGE: Final = f"""
WITH shown AS (
    SELECT {KEY_SQL} AS inv_key FROM read_model.stock s {{joined}}
    WHERE {{where}} ORDER BY {{order}} LIMIT %(limit)s
)
{_ROW} JOIN shown ON shown.inv_key = s.inv_key ORDER BY {{order}}
"""  # noqa: S608 -- constants of this project
_PRODUCT: Final = "LEFT JOIN retail.product p ON p.code = s.sku"
_POLICY: Final = "LEFT JOIN retail.item_location il ON il.inv_key = s.inv_key"


def stock_page(
    filters: Filters, *, order: Order = BY_KEY, place: Place = START, rows: int = PAGE_ROWS
) -> StockPage:
    """Return at most `rows` rows after `place`, or before `place` if it is `backwards`.

    Rows with the same value in the sorted column are ordered by location and SKU.
    """
    where, parameters = conditions(filters)
    descends = order.descending != place.backwards
    if place.inv_key:
        where = f"{where} AND {_beyond(order, descends=descends)}"
        location, _, sku = place.inv_key.partition("|")
        parameters |= {"of_location": location, "of_sku": sku, "value": place.value}
    sql = _PAGE.format(
        where=where,
        joined=_joined(order, filters),
        order=", ".join(f"{key} {'DESC' if descends else 'ASC'}" for key in _keys(order)),
    )
    found = select(sql, parameters | {"limit": rows + 1}, StockRow)
    more, shown = len(found) > rows, found[:rows]
    if place.backwards:
        return StockPage(shown[::-1], has_next=True, has_previous=more)
    return StockPage(shown, has_next=more, has_previous=bool(place.inv_key))


def _joined(order: Order, filters: Filters) -> str:
    """Return SQL that joins the product if the order needs it, and the policy if a filter does."""
    policy = _POLICY if filters.supplier else ""
    return f"{_PRODUCT if order.column == 'item' else ''} {policy}"


def _keys(order: Order) -> tuple[str, ...]:
    value = (ORDERS[order.column][0],) if order.column else ()
    return (*value, "s.location", "s.sku")


def _beyond(order: Order, *, descends: bool) -> str:
    value = f"%(value)s::{ORDERS[order.column][1]}" if order.column else ""
    values = (alphabetic(value) if order.column == "item" else value,) if value else ()
    here = ", ".join((*values, "%(of_location)s", "%(of_sku)s"))
    return f"({', '.join(_keys(order))}) {'<' if descends else '>'} ({here})"


def place_of(row: StockRow, order: Order, *, backwards: bool = False) -> Place:
    """Return the position after the row in this order, or before it if `backwards`."""
    return Place(row.inv_key, str(_VALUES[order.column](row)), backwards)


def _cover(row: StockRow) -> int:
    return UNBOUNDED if row.cover_centidays is None else row.cover_centidays


# The value by which each sort order of `ORDERS` sorts a row.
_VALUES: Final[Mapping[str, Callable[[StockRow], object]]] = {
    "": lambda _: "",
    "item": lambda row: row.name,
    "on_hand": lambda row: row.on_hand_units,
    "available": lambda row: row.available_to_sell_units,
    "in_transit": lambda row: row.in_transit_units,
    "on_order": lambda row: row.on_order_units,
    "cover": _cover,
}


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the first 10,001 rows that pass the filters.

    `items` is the number of these rows. `negative` to `ok` are the numbers of rows by status.
    """

    items: int
    on_hand_units: int
    available_to_sell_units: int
    in_transit_units: int
    on_order_units: int
    negative: int
    out: int
    low: int
    over: int
    ok: int

    @property
    def is_complete(self) -> bool:
        """True if the sums cover every row. Only then may a page sort the list by a column."""
        return self.items <= MOST_SUMMED


_UNITS: Final = ("on_hand_units", "available_to_sell_units", "in_transit_units", "on_order_units")
_TOTALS: Final = f"""
SELECT count(*) AS items,
       {", ".join(f"coalesce(sum(c.{name}), 0)::bigint AS {name}" for name in _UNITS)},
       {", ".join(f"count(*) FILTER (WHERE c.status = '{name}') AS {name}" for name in STATUSES)}
FROM (SELECT {", ".join(f"s.{name}" for name in _UNITS)}, {STATUS_SQL} AS status
      FROM read_model.stock s {{joined}} WHERE {{where}} LIMIT {MOST_SUMMED + 1}) AS c
"""  # noqa: S608 -- constants of this project


def totals(filters: Filters) -> Totals:
    """Return the sums over the rows that pass the filters, over the first 10,001 at most."""
    where, parameters = conditions(filters)
    sql = _TOTALS.format(joined=_joined(BY_KEY, filters), where=where)
    [found] = select(sql, parameters, Totals)
    return found


def stock_rows(keys: list[str]) -> list[StockRow]:
    """Return the rows of these keys, ordered by key. Leave out keys without a row."""
    sql = f"{_ROW} WHERE s.inv_key = ANY(%(keys)s) ORDER BY s.inv_key"
    return select(sql, {"keys": keys}, StockRow)


def listed_rows(keys: list[str]) -> list[StockRow]:
    """Return the rows of those keys that the stock list can show, ordered by key."""
    sql = f"{_ROW} WHERE s.inv_key = ANY(%(keys)s) AND {LISTED_SQL} ORDER BY s.inv_key"
    return select(sql, {"keys": keys}, StockRow)


@dataclass(frozen=True, slots=True)
class _Sold:
    """Units that a key sold in one hour; `hour` is 0 for the oldest to 23 for the newest."""

    inv_key: str
    hour: int
    units: int


# An hour is six windows of ten minutes, and not an hour of the clock. The last hour ends with the
# last window that was over at the as-of time.
_HOURS: Final = """
SELECT shown.inv_key, (w.start_us - shown.end_us + %(span_us)s) / %(hour_us)s AS hour,
       sum(w.sold_units)::bigint AS units
FROM unnest(%(keys)s::text[], %(ends)s::bigint[]) AS shown (inv_key, end_us)
JOIN read_model.sales_window w ON w.inv_key = shown.inv_key AND w.sold_units > 0
    AND w.start_us >= shown.end_us - %(span_us)s AND w.start_us < shown.end_us
GROUP BY 1, 2
"""


def sold_by_hour(rows: Sequence[StockRow]) -> dict[str, list[int]]:
    """Return {key: units sold in each of 24 hours, from the oldest to the newest}.

    The last hour ends with the last ten-minute window that was over at the row's as-of time.
    """
    sold = {row.inv_key: [0] * (DAY_US // HOUR_US) for row in rows}
    asked = {
        "keys": list(sold),
        "ends": [last_hop_end_us(row.as_of_us) for row in rows],
        "span_us": DAY_US,
        "hour_us": HOUR_US,
    }
    for found in select(_HOURS, asked, _Sold):
        sold[found.inv_key][found.hour] = found.units
    return sold
