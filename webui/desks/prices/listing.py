"""The proposed prices of the desk: search, sort order, totals and pages."""

from dataclasses import dataclass
from typing import Any, Final

from ledger.kernel.rows import select, select_one
from webui.readmodel.alphabet import alphabetic
from webui.readmodel.proposals import PRICE_PROPOSAL, PRICE_VIEWS, PriceProposal
from webui.shell.listing import Sort

PAGE_ROWS: Final = 40
MOST_COUNTED: Final = 1000
# SQL for two numbers by which people sort: the change of the margin of one unit, and the change of
# the margin of a week's sales. Unlike the properties of `PriceProposal`, they aren't rounded.
_UNIT: Final = "((r.new_minor - r.old_minor)::numeric * 10000 / (10000 + il.tax_bp))"
_WEEK: Final = f"({_UNIT} * coalesce(s.demand_rate_micro, il.initial_rate_micro))"
# `price_page` sorts equal values by location, SKU and id, so that no two pages share a row.
ORDERS: Final = {
    "week": f"abs({_WEEK})",
    "unit": f"abs({_UNIT})",
    "item": alphabetic("coalesce(p.name, r.sku)"),
    "store": "r.location",
    "price": "r.new_minor",
    "change": "abs(r.new_minor - r.old_minor)::numeric / greatest(1, r.old_minor)",
    "signal": "r.signal",
}
DEFAULT_SORT: Final = Sort("week", descending=True)
_FROM: Final = PRICE_PROPOSAL[PRICE_PROPOSAL.index("FROM app.price_proposal") :]


@dataclass(frozen=True, slots=True)
class Filters:
    """View, search and order of the desk; `start` is the number of rows before the page."""

    view: str
    text: str = ""
    location: str = ""
    signal: str = ""
    sort: Sort = DEFAULT_SORT
    start: int = 0

    def as_query(self) -> dict[str, str]:
        """Return the filters as query parameters; leave out filters with their default value."""
        pairs = {
            "view": self.view,
            "q": self.text,
            "location": self.location,
            "signal": self.signal,
            "sort": "" if self.sort == DEFAULT_SORT else self.sort.text,
        }
        return {name: given for name, given in pairs.items() if given}


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of rows of all pages, at most 1,001, and the signals (reasons) of their prices."""

    rows: int
    signals: list[str]

    @property
    def is_capped(self) -> bool:
        """True if there are more than 1,000 rows."""
        return self.rows > MOST_COUNTED


def price_page(filters: Filters) -> list[PriceProposal]:
    """Return the proposals of one page, at most 40, in the order of `filters.sort`."""
    direction = "DESC NULLS LAST" if filters.sort.descending else "ASC NULLS LAST"
    sql = (
        f"{PRICE_PROPOSAL} WHERE {_where(filters)}"
        f" ORDER BY {ORDERS[filters.sort.column]} {direction}, r.location, r.sku, r.proposal_id"
        " LIMIT %(rows)s OFFSET %(start)s"
    )
    given = _given(filters) | {"rows": PAGE_ROWS, "start": filters.start}
    return select(sql, given, PriceProposal)


def totals(filters: Filters) -> Totals:
    """Return the number of rows, at most 1,001, and the signals that these rows have."""
    few = f"SELECT r.signal {_FROM} WHERE {_where(filters)} LIMIT {MOST_COUNTED + 1}"
    sql = (
        "SELECT count(*)::int AS rows, coalesce(array_agg(DISTINCT few.signal), '{}') AS signals"  # noqa: S608 -- conditions of this module
        f" FROM ({few}) few"
    )
    return select_one(sql, _given(filters), Totals) or Totals(0, [])


def _where(filters: Filters) -> str:
    where = [PRICE_VIEWS[filters.view]]
    if filters.location:
        where.append("r.location = %(location)s")
    if filters.signal:
        where.append("r.signal = %(signal)s")
    if filters.text:
        where.append("(r.sku ILIKE %(like)s OR p.name ILIKE %(like)s)")
    return " AND ".join(where)


def _given(filters: Filters) -> dict[str, Any]:
    return like(filters) | {"signal": filters.signal}


def like(filters: Filters) -> dict[str, Any]:
    """Return the SQL parameters `like` (pattern of the search text) and `location`."""
    text = filters.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    return {"location": filters.location, "like": f"%{text}%"}
