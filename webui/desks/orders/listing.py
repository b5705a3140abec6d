"""The lists of the orders desk: one page of orders or of late lines, sorted by a column."""

from dataclasses import dataclass, fields
from typing import Final

from ledger.kernel.rows import select, select_one
from ledger.messages import gettext_noop
from webui.desks.orders.lines import LINE_COLUMNS, LINE_FROM, OPEN_UNITS_SQL, Line
from webui.desks.orders.queries import LATE_SQL, Filters, OrderRow, conditions, orders_sql
from webui.readmodel.alphabet import alphabetic
from webui.shell.keyset import MOST_SUMMED, PAGE_ROWS, Keys, Page, Place, Sortable, cut, parameters
from webui.shell.listing import Column, Sort

NEWEST: Final = Sort("order", descending=True)
# `alphabetic` evaluates its argument up to three times. Call it inside the subquery, so that
# Postgres executes the subquery only once.
_NAME: Final = alphabetic("lo.name")
_NAME_OF_STORE: Final = f"SELECT {_NAME} FROM retail.location lo WHERE lo.code = {{0}}"  # noqa: S608 -- the SQL of a column
_STORE: Final = f"coalesce(({_NAME_OF_STORE}), {alphabetic('{0}')})"
ORDERS: Final = Keys(
    {
        "order": Sortable("o.last_id", "bigint"),
        "supplier": Sortable(alphabetic("o.supplier_name")),
        "to": Sortable(_STORE.format("o.location")),
        "status": Sortable("o.overdue_lines", "bigint"),
        "lines": Sortable("o.lines", "bigint"),
        "open": Sortable("o.open_units", "bigint"),
        "value": Sortable("coalesce(o.value_minor, -1)", "bigint"),
        "due": Sortable("coalesce(o.due_on, 'infinity')", "date"),
    },
    key="o.last_id",
    default=NEWEST,
)
ORDER_COLUMNS: Final = (
    Column("order", gettext_noop("Order"), largest_first=True),
    Column("supplier", gettext_noop("Supplier")),
    Column("to", gettext_noop("To")),
    Column("status", gettext_noop("Status"), largest_first=True),
    Column("lines", gettext_noop("Lines"), "n", largest_first=True),
    Column("open", gettext_noop("Open units"), "n", largest_first=True),
    Column("value", gettext_noop("Value"), "n", largest_first=True),
    Column("due", gettext_noop("Due")),
)
PICK: Final = Column("", gettext_noop("Pick"), "pick-cell", is_hidden=True)
LATE: Final = Keys(
    {
        "due": Sortable("l.due_on", "date"),
        "item": Sortable(alphabetic("coalesce(p.name, l.sku)")),
        "order": Sortable("l.order_ref"),
        "supplier": Sortable(alphabetic("coalesce(su.name, l.supplier)")),
        "to": Sortable(_STORE.format("l.location")),
        "open": Sortable(OPEN_UNITS_SQL, "bigint"),
    },
    key="l.id",
    default=Sort("due"),
)
LATE_COLUMNS: Final = (
    Column("item", gettext_noop("Item")),
    Column("order", gettext_noop("Order")),
    Column("supplier", gettext_noop("Supplier")),
    Column("to", gettext_noop("To")),
    Column("due", gettext_noop("Due")),
    Column("open", gettext_noop("Open"), "n", largest_first=True),
    Column("", gettext_noop("Received"), "n"),
)


@dataclass(frozen=True, slots=True)
class ListedOrder(OrderRow):
    """An order on a page; `mark` is its value in the sorted column."""

    mark: str

    @property
    def key(self) -> int:
        """The id of the order's newest line, by which the paged list identifies the order."""
        return self.last_id


@dataclass(frozen=True, slots=True)
class LateLine(Line):
    """A late line on a page; `mark` is its value in the sorted column."""

    mark: str

    @property
    def key(self) -> int:
        """The id of the line, by which the paged list identifies the row."""
        return self.id


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over the orders or late lines of all pages, but at most over the first 10,001.

    `without_value` counts the rows of unknown cost; `value_minor` leaves out these rows. `late`
    counts the orders with an overdue line, or the late lines.
    """

    rows: int
    open_units: int
    value_minor: int
    without_value: int
    late: int

    @property
    def is_complete(self) -> bool:
        """True if the sums cover every row. Else orders can be sorted only by their newest line."""
        return self.rows <= MOST_SUMMED


_NAMES: Final = ", ".join(f"o.{field.name}" for field in fields(OrderRow))


def order_page(filters: Filters, place: Place) -> Page[ListedOrder]:
    """Return one page of the orders of a view, for example `draft`."""
    where, given = conditions(filters)
    orders = orders_sql(filters.view, where, _first_orders(place))
    sql = f"""WITH o AS ({orders}),
        shown AS ({ORDERS.shown_sql("FROM o WHERE true", place)})
        SELECT {_NAMES}, shown.mark FROM o JOIN shown ON shown.key = o.last_id
        ORDER BY shown.place"""  # noqa: S608 -- constants of this project
    return cut(select(sql, given | parameters(place), ListedOrder), place)


def _first_orders(place: Place) -> str:
    """Return the SQL `rest` for `orders_sql` that limits the list to the orders of the page.

    Return "" unless the list is sorted by the newest line of each order. For any other column,
    Postgres must read every order of the view.
    """
    if place.sort.column != NEWEST.column:
        return ""
    descends = place.sort.descending is not place.backwards
    beyond = f"AND max(l.id) {'<' if descends else '>'} %(place_key)s::bigint" if place.key else ""
    return f"{beyond} ORDER BY last_id {'DESC' if descends else 'ASC'} LIMIT {PAGE_ROWS + 1}"


def order_totals(filters: Filters) -> Totals:
    """Return the sums over the orders of a view, for example `draft`."""
    where, given = conditions(filters)
    orders = orders_sql(filters.view, where, f"LIMIT {MOST_SUMMED + 1}")
    sql = f"""SELECT count(*) AS rows, coalesce(sum(o.open_units), 0)::bigint AS open_units,
        coalesce(sum(o.value_minor), 0)::bigint AS value_minor,
        count(*) FILTER (WHERE o.value_minor IS NULL) AS without_value,
        count(*) FILTER (WHERE o.overdue_lines > 0) AS late FROM ({orders}) o"""  # noqa: S608 -- constants of this project
    return select_one(sql, given, Totals) or Totals(0, 0, 0, 0, 0)


def late_page(filters: Filters, place: Place) -> Page[LateLine]:
    """Return one page of the lines that are past their due day."""
    where, given = conditions(filters)
    shown = LATE.shown_sql(f"{LINE_FROM} WHERE {where} AND {LATE_SQL}", place)
    sql = f"""WITH shown AS ({shown}) {LINE_COLUMNS}, shown.mark {LINE_FROM}
        JOIN shown ON shown.key = l.id ORDER BY shown.place"""
    return cut(select(sql, given | parameters(place), LateLine), place)


def late_totals(filters: Filters) -> Totals:
    """Return the sums over the late lines."""
    where, given = conditions(filters)
    units, value = OPEN_UNITS_SQL, f"{OPEN_UNITS_SQL} * nullif(l.cost_minor, 0)"
    sql = f"""SELECT count(*) AS rows, coalesce(sum(c.open_units), 0)::bigint AS open_units,
        coalesce(sum(c.value), 0)::bigint AS value_minor,
        count(*) FILTER (WHERE c.value IS NULL) AS without_value, count(*) AS late
        FROM (SELECT {units} AS open_units, {value} AS value {LINE_FROM}
              WHERE {where} AND {LATE_SQL} LIMIT {MOST_SUMMED + 1}) AS c"""  # noqa: S608 -- constants of this project
    return select_one(sql, given, Totals) or Totals(0, 0, 0, 0, 0)
