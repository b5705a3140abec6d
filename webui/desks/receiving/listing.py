"""The list of the receiving desk: orders with units that have not arrived yet, page by page."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from ledger.items.scanned import skus_of
from ledger.kernel.rows import select, select_one
from ledger.messages import gettext_noop
from webui.desks.orders.lines import ARRIVED_SQL, OPEN_UNITS_SQL, OVERDUE_SQL
from webui.desks.orders.sheet import TO
from webui.readmodel.alphabet import alphabetic
from webui.shell.keyset import Keys, Page, Place, Sortable, cut, parameters
from webui.shell.listing import Column, Sort

KEYS: Final = Keys(
    {
        "due": Sortable("coalesce(d.due_on, 'infinity')", "date"),
        "order": Sortable("d.order_ref"),
        "supplier": Sortable(alphabetic("d.supplier_name")),
        "to": Sortable(alphabetic("d.store")),
        "lines": Sortable("d.lines", "bigint"),
        "open": Sortable("d.open_units", "bigint"),
        "road": Sortable("d.in_transit_units", "bigint"),
    },
    key="d.key",
    default=Sort("due"),
    type="text",
)
COLUMNS: Final = (
    Column("order", gettext_noop("Order")),
    Column("supplier", gettext_noop("Supplier")),
    Column("to", gettext_noop("To")),
    Column("due", gettext_noop("Due")),
    Column("lines", gettext_noop("Lines"), "n", largest_first=True),
    Column("open", gettext_noop("Units to come"), "n", largest_first=True),
    Column("road", gettext_noop("In transit"), "n", largest_first=True),
    Column("", gettext_noop("Receive"), "do", is_hidden=True),
)

# Columns of the lines of one order.
DELIVERY_COLUMNS: Final = (
    Column("", gettext_noop("Item"), "wide"),
    Column("", TO),
    Column("", gettext_noop("Expected"), "n"),
    Column("", gettext_noop("Packs of"), "n"),
    Column("", gettext_noop("Received"), "field"),
    Column("", gettext_noop("Damaged"), "field"),
    Column("", gettext_noop("Reason"), "field reason"),
)


@dataclass(frozen=True, slots=True)
class DueOrder:
    """The open units of one order at one location; `mark` is the row's value in the sorted column.

    An order for several locations has several rows.
    """

    key: str
    order_ref: str
    location: str
    store: str
    supplier_name: str
    lines: int
    open_units: int
    in_transit_units: int
    overdue_lines: int
    due_on: date | None
    mark: str


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of orders on all pages, their units to come, and the number of late orders."""

    orders: int
    open_units: int
    late: int


_DUE: Final = f"""
SELECT l.order_ref || '|' || l.location AS key, l.order_ref, l.location,
       coalesce(min(lo.name), l.location) AS store,
       coalesce(min(su.name), min(l.supplier)) AS supplier_name,
       count(*) AS lines, sum({OPEN_UNITS_SQL})::bigint AS open_units,
       coalesce(sum(sh.in_transit_units), 0)::bigint AS in_transit_units,
       count(*) FILTER (WHERE {OVERDUE_SQL}) AS overdue_lines, min(l.due_on) AS due_on
FROM retail.purchase_order_line l
{ARRIVED_SQL}
LEFT JOIN retail.supplier su ON su.code = l.supplier
LEFT JOIN retail.location lo ON lo.code = l.location
WHERE l.status IN ('sent', 'confirmed') AND (%(location)s = '' OR l.location = %(location)s)
  AND {OPEN_UNITS_SQL} > 0
GROUP BY l.order_ref, l.location
HAVING %(text)s = '' OR bool_or(l.order_ref IN (%(text)s, upper(%(text)s))
    OR l.sku IN (%(text)s, upper(%(text)s)) OR l.sku = ANY(%(coded)s))
"""  # noqa: S608 -- constants of this project


def due_page(place: Place, *, location: str, text: str) -> Page[DueOrder]:
    """Return one page of orders with open units.

    `text` is the reference of an order, or an SKU or code of an item. An item selects the rows
    (order and location) with open units of it. A row describes all open lines of the order at this
    location. An empty text selects all rows.
    """
    sql = f"""WITH d AS ({_DUE}), shown AS ({KEYS.shown_sql("FROM d WHERE true", place)})
        SELECT d.*, shown.mark FROM d JOIN shown ON shown.key = d.key ORDER BY shown.place"""  # noqa: S608 -- constants of this module
    return cut(select(sql, _given(location, text) | parameters(place), DueOrder), place)


def _given(location: str, text: str) -> dict[str, Any]:
    return {"location": location, "text": text, "coded": skus_of(text)}


def due_orders(
    *, location: str, text: str, after: tuple[date | None, str, str] | None, rows: int
) -> list[DueOrder]:
    """Return up to `rows` orders with open units, earliest due first, for the API.

    `after` is the due day, reference and location of the last order on the previous page. An order
    that was received since then doesn't shift the next page.
    """
    place = "(coalesce(d.due_on, 'infinity'), d.order_ref, d.location)"
    behind = f"{place} > (coalesce(%(due_on)s::date, 'infinity'), %(order_ref)s, %(store)s)"
    sql = f"""SELECT d.*, '' AS mark FROM ({_DUE}) d WHERE {behind if after else "true"}
        ORDER BY d.due_on NULLS LAST, d.order_ref, d.location LIMIT %(rows)s"""  # noqa: S608 -- the query above
    due_on, order_ref, store = after or (None, "", "")
    last = {"due_on": due_on, "order_ref": order_ref, "store": store}
    return select(sql, _given(location, text) | last | {"rows": rows}, DueOrder)


def due_totals(*, location: str, text: str) -> Totals:
    """Return the sums over the orders of all pages; an order for two locations counts once."""
    sql = f"""SELECT count(DISTINCT d.order_ref) AS orders,
        coalesce(sum(d.open_units), 0)::bigint AS open_units,
        count(DISTINCT d.order_ref) FILTER (WHERE d.overdue_lines > 0) AS late
        FROM ({_DUE}) d"""  # noqa: S608 -- the query above
    return select_one(sql, _given(location, text), Totals) or Totals(0, 0, 0)
