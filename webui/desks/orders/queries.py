"""Queries of the orders desk: orders by view, numbers of orders, and number of overdue lines."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from ledger.kernel.rows import select, select_value
from ledger.ordering.orders import version_of_drafts
from webui.desks.orders.lines import ARRIVED_SQL, OPEN_UNITS_SQL, OVERDUE_SQL
from webui.desks.orders.sheet import order_status

PAGE_ROWS: Final = 50
MOST_COUNTED: Final = 1000
VIEWS: Final = ("draft", "open", "overdue", "closed")


@dataclass(frozen=True, slots=True)
class Filters:
    """The list's filters; empty texts filter nothing."""

    view: str = "open"
    location: str = ""
    supplier: str = ""
    text: str = ""

    def as_query(self) -> dict[str, str]:
        """Return the filters as query parameters."""
        pairs = {
            "view": self.view,
            "location": self.location,
            "supplier": self.supplier,
            "q": self.text,
        }
        return {name: given for name, given in pairs.items() if given}


@dataclass(frozen=True, slots=True)
class OrderRow:
    """One order of the list; `value_minor` is None if the cost of a line is unknown."""

    order_ref: str
    last_id: int
    supplier: str
    supplier_name: str
    location: str
    locations: int
    lines: int
    drafts: int
    closed_lines: int
    overdue_lines: int
    units: int
    open_units: int
    value_minor: int | None
    minimum_order_minor: int
    due_on: date | None
    ordered_at: datetime
    is_automatic: bool
    supplier_active: bool
    draft_times: list[datetime]
    draft_minor: int
    is_sending: bool

    @property
    def drafts_version(self) -> str:
        """The version of the draft lines. Sending is refused if this version has changed."""
        return version_of_drafts(self.draft_times)

    @property
    def is_sendable(self) -> bool:
        """True if a person may pick the order to send its drafts."""
        return bool(self.drafts) and self.supplier_active and not self.is_sending

    @property
    def status(self) -> str:
        """The status of the order as a whole, for example `part received`, not translated."""
        return order_status(
            lines=self.lines,
            drafts=self.drafts,
            closed=self.closed_lines,
            units=self.units,
            open_units=self.open_units,
        )

    @property
    def is_below_minimum(self) -> bool:
        """True if the order has drafts that are worth less than the supplier's minimum order.

        As in `send_order`, a draft line of unknown cost has the value 0.
        """
        return bool(self.drafts) and self.draft_minor < self.minimum_order_minor


_HAVING: Final = {
    "draft": "bool_or(l.status = 'draft')",
    "open": "bool_or(l.status IN ('sent', 'confirmed'))",
    "closed": "bool_and(l.status = 'closed')",
}
# These conditions let Postgres use the partial index of lines that are not closed.
_NARROWED: Final = {
    "draft": "l.order_ref IN (SELECT order_ref FROM retail.purchase_order_line"
    " WHERE status = 'draft')",
    "open": "l.order_ref IN (SELECT order_ref FROM retail.purchase_order_line"
    " WHERE status <> 'closed' AND status <> 'draft')",
    "closed": "true",
}
# The condition of filters that filter nothing.
_EVERY: Final = "true"


def conditions(filters: Filters) -> tuple[str, dict[str, Any]]:
    """Return the SQL condition for lines that pass the filters, and its parameters."""
    where, parameters = [_EVERY], dict[str, Any]()
    if filters.location:
        where.append("l.location = %(location)s")
        parameters["location"] = filters.location
    if filters.supplier:
        where.append("l.supplier = %(supplier)s")
        parameters["supplier"] = filters.supplier
    if filters.text:
        where.append(
            "(l.order_ref ILIKE %(text)s OR l.sku ILIKE %(text)s OR p.name ILIKE %(text)s)"
        )
        escaped = filters.text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        parameters["text"] = f"%{escaped}%"
    return " AND ".join(where), parameters


def orders(filters: Filters, *, before: int | None = None) -> list[OrderRow]:
    """Return up to 51 orders, newest first: one more than a page, to show whether more follow.

    With `before`, return only orders whose `last_id` (id of the newest line) is lower.
    """
    where, given = conditions(filters)
    newest = f"""AND (%(before)s::bigint IS NULL OR max(l.id) < %(before)s)
            ORDER BY last_id DESC LIMIT {PAGE_ROWS + 1}"""
    sql = f"{orders_sql(filters.view, where, newest)} ORDER BY w.last_id DESC"
    return select(sql, given | {"before": before}, OrderRow)


def _lines_of_found(view: str, where: str) -> str:
    """Return the SQL condition for every line of the orders of which one line fulfils `where`.

    The view of an order depends on all its lines, so `where` may not remove any of them.
    """
    if where == _EVERY:
        return _NARROWED[view]
    # With an array, Postgres reads the found orders through their index. With IN, it joins the
    # whole table.
    return f"""l.order_ref = ANY (ARRAY (
        SELECT DISTINCT l.order_ref FROM retail.purchase_order_line l
        LEFT JOIN retail.product p ON p.code = l.sku WHERE {where} AND {_NARROWED[view]}))"""  # noqa: S608 -- constants of this module


def orders_sql(view: str, where: str, rest: str) -> str:
    """Return SQL that selects the columns of `OrderRow` for the orders of a view.

    An order is selected if one of its lines fulfils `where`. `rest` is appended to the HAVING
    clause.
    """
    return f"""
        WITH wanted AS (
            SELECT l.order_ref, max(l.id) AS last_id FROM retail.purchase_order_line l
            WHERE {_lines_of_found(view, where)}
            GROUP BY l.order_ref
            HAVING {_HAVING[view]} {rest}
        )
        SELECT w.order_ref, w.last_id, min(l.supplier) AS supplier,
               coalesce(min(su.name), min(l.supplier)) AS supplier_name,
               min(l.location) AS location, count(DISTINCT l.location) AS locations,
               count(*) AS lines, count(*) FILTER (WHERE l.status = 'draft') AS drafts,
               count(*) FILTER (WHERE l.status = 'closed') AS closed_lines,
               count(*) FILTER (WHERE {OVERDUE_SQL} AND l.status <> 'draft') AS overdue_lines,
               sum(coalesce(l.confirmed_units, l.ordered_units) - l.cancelled_units)::bigint
                   AS units,
               sum({OPEN_UNITS_SQL})::bigint AS open_units,
               CASE WHEN bool_and(coalesce(l.cost_minor, 0) > 0) THEN
                   sum((coalesce(l.confirmed_units, l.ordered_units) - l.cancelled_units)
                       * l.cost_minor)::bigint END AS value_minor,
               coalesce(min(su.minimum_order_minor), 0) AS minimum_order_minor,
               min(l.due_on) FILTER (WHERE {OPEN_UNITS_SQL} > 0) AS due_on,
               max(l.ordered_at) AS ordered_at,
               coalesce(bool_or(o.is_automatic), false) AS is_automatic,
               coalesce(bool_and(su.is_active), true) AS supplier_active,
               coalesce(array_agg(l.recorded_at) FILTER (WHERE l.status = 'draft'), '{{}}')
                   AS draft_times,
               coalesce(sum(l.ordered_units * coalesce(l.cost_minor, 0))
                   FILTER (WHERE l.status = 'draft'), 0)::bigint AS draft_minor,
               EXISTS (SELECT FROM app.pending_item i WHERE i.kind = 'order'
                   AND i.subject = w.order_ref AND i.is_waiting) AS is_sending
        FROM wanted w JOIN retail.purchase_order_line l ON l.order_ref = w.order_ref
        {ARRIVED_SQL}
        LEFT JOIN retail.supplier su ON su.code = l.supplier
        LEFT JOIN app.purchase_order o ON o.order_ref = w.order_ref
        GROUP BY w.order_ref, w.last_id
    """  # noqa: S608 -- constants of this module


def count_orders(filters: Filters) -> int:
    """Return the number of orders of a view, capped at 1,000."""
    _where, parameters = conditions(filters)
    return int(select_value(counted_orders(filters), parameters))


def counted_orders(filters: Filters) -> str:
    """Return SQL for the number of orders of a view, capped at 1,000.

    The SQL has one parameter for each filter that isn't empty.
    """
    where, _parameters = conditions(filters)
    return f"""SELECT count(*) FROM (
        SELECT 1 FROM retail.purchase_order_line l
        WHERE {_lines_of_found(filters.view, where)}
        GROUP BY l.order_ref HAVING {_HAVING[filters.view]} LIMIT {MOST_COUNTED}) few"""  # noqa: S608 -- constants of this module


LATE_SQL: Final = f"l.status IN ('sent', 'confirmed') AND {OVERDUE_SQL}"


def count_overdue(filters: Filters) -> int:
    """Return the number of overdue lines, capped at 1,000."""
    where, parameters = conditions(filters)
    sql = f"""SELECT count(*) FROM (
        SELECT 1 FROM retail.purchase_order_line l {ARRIVED_SQL}
        LEFT JOIN retail.product p ON p.code = l.sku
        WHERE {where} AND {LATE_SQL} LIMIT {MOST_COUNTED}) few"""  # noqa: S608 -- constants of this module
    return int(select_value(sql, parameters))
