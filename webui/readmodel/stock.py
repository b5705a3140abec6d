"""The stock list: rows of the read model with reference data, keyset-paged.

Facts of one key, for the page that explains a number, are in `webui.readmodel.explain`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cdc.contracts.topics import ON_HAND_CHANGELOG
from inventory.model.arithmetic import DAY_US, HOUR_US
from inventory.reports.sales_spans import last_hop_end_us
from ledger.kernel.rows import select
from webui.readmodel.figures import PRICE_SQL, PRICED_AT_SQL, STATUS_SQL, STATUSES, Covered

PAGE_ROWS: Final = 50


@dataclass(frozen=True, slots=True)
class StockRow(Covered):
    """One key on the stock list; `status` is one of `figures.STATUSES`.

    `as_of_us` is the commit time up to which the key's partition is known, heartbeats included. The
    price is read from the ledger and in force at `priced_at_us`, which is usually a little later.
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
class Filters:
    """The filters of the stock list; empty texts filter nothing."""

    text: str = ""
    location: str = ""
    status: str = ""
    supplier: str = ""

    def as_query(self) -> dict[str, str]:
        """Return the filters as query parameters."""
        pairs = {
            "q": self.text,
            "location": self.location,
            "status": self.status,
            "supplier": self.supplier,
        }
        return {name: given for name, given in pairs.items() if given}


@dataclass(frozen=True, slots=True)
class StockPage:
    """Up to 50 rows in key order, and the last key if another page follows."""

    rows: list[StockRow]
    next_after: str | None
    has_previous: bool


_ROW: Final = f"""
SELECT s.inv_key, s.location, s.sku, coalesce(p.name, s.sku) AS name, il.supplier,
       s.on_hand_units, s.available_to_sell_units, s.in_transit_units, s.on_order_units,
       s.stock_known, {STATUS_SQL} AS status,
       coalesce(s.demand_rate_micro, il.initial_rate_micro, 0) AS rate_micro,
       {PRICE_SQL} AS price_minor, {PRICED_AT_SQL} AS priced_at_us,
       s.generation, s.partition, s."offset", greatest(at.as_of_us, s.as_of_us) AS as_of_us
FROM read_model.stock s
LEFT JOIN read_model.sink_position at
    ON at.sink = 'projector' AND at.topic = '{ON_HAND_CHANGELOG}' AND at.partition = s.partition
LEFT JOIN retail.product p ON p.code = s.sku
LEFT JOIN retail.item_location il ON il.inv_key = s.inv_key
"""  # noqa: S608 -- status and price are constants of this project


def stock_page(filters: Filters, *, after: str = "", rows: int = PAGE_ROWS) -> StockPage:
    """Return the page after the key `after`; the next page starts after `next_after`."""
    where, parameters = _conditions(filters)
    where.append("s.inv_key > %(after)s")
    sql = f"{_ROW} WHERE {' AND '.join(where)} ORDER BY s.inv_key LIMIT %(limit)s"
    found = select(sql, parameters | {"after": after, "limit": rows + 1}, StockRow)
    shown = found[:rows]
    more = len(found) > rows
    return StockPage(shown, shown[-1].inv_key if more else None, has_previous=bool(after))


def _conditions(filters: Filters) -> tuple[list[str], dict[str, Any]]:
    where: list[str] = []
    parameters: dict[str, Any] = {}
    for number, word in enumerate(filters.text.split()[:6]):
        name = f"word{number}"
        where.append(
            f"(s.sku ILIKE %({name})s OR p.name ILIKE %({name})s OR s.location ILIKE %({name})s)"
        )
        parameters[name] = f"%{_literal(word)}%"
    if filters.location:
        where.append("s.location = %(location)s")
        parameters["location"] = filters.location
    if filters.supplier:
        where.append("il.supplier = %(supplier)s")
        parameters["supplier"] = filters.supplier
    if filters.status in STATUSES:
        where.append(f"({STATUS_SQL}) = %(status)s")
        parameters["status"] = filters.status
    return where, parameters


def _literal(word: str) -> str:
    """Return the search text with the wildcards of LIKE escaped."""
    return word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def stock_rows(keys: list[str]) -> list[StockRow]:
    """Return the rows of these keys, in key order; unknown keys are left out."""
    sql = f"{_ROW} WHERE s.inv_key = ANY(%(keys)s) ORDER BY s.inv_key"
    return select(sql, {"keys": keys}, StockRow)


@dataclass(frozen=True, slots=True)
class _Sold:
    """Units that a key sold in one of the hours before its as-of time."""

    inv_key: str
    hour: int
    units: int


# An hour starts at a window edge, not at a full hour: the last one ends at the as-of time's edge.
_HOURS: Final = """
SELECT shown.inv_key, (w.start_us - shown.end_us + %(span_us)s) / %(hour_us)s AS hour,
       sum(w.sold_units)::bigint AS units
FROM unnest(%(keys)s::text[], %(ends)s::bigint[]) AS shown (inv_key, end_us)
JOIN read_model.sales_window w ON w.inv_key = shown.inv_key AND w.sold_units > 0
    AND w.start_us >= shown.end_us - %(span_us)s AND w.start_us < shown.end_us
GROUP BY 1, 2
"""


def sold_by_hour(rows: Sequence[StockRow]) -> dict[str, list[int]]:
    """Return per key the units sold in each of the 24 hours before its last window edge.

    Hours are ordered from the oldest to the newest.
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
