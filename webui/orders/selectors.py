"""What the desks of orders and receiving read: orders, their lines, receipts and history."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from webui.ledger.services import orders_status
from webui.readmodel.figures import money_text
from webui.readmodel.rows import select, select_one, select_value

PAGE_ROWS: Final = 50
MOST_COUNTED: Final = 1000
VIEWS: Final = ("draft", "open", "overdue", "closed")

# What `orders_status.open_units` says, for lists that SQL filters; a test compares both.
OPEN_UNITS_SQL: Final = (
    "greatest(0, coalesce(l.confirmed_units, l.ordered_units) - l.cancelled_units"
    " - coalesce(sh.order_units, 0))"
)
# What `orders_status.is_overdue` says.
OVERDUE_SQL: Final = (
    f"l.due_on + 1 <= (clock_timestamp() AT TIME ZONE 'UTC')::date AND {OPEN_UNITS_SQL} > 0"
)
_ARRIVED: Final = """
LEFT JOIN LATERAL (
    SELECT sum(order_units)::bigint AS order_units,
           (sum(received_units) FILTER (WHERE status = 'received'))::bigint AS received_units,
           (sum(damaged_units) FILTER (WHERE status = 'received'))::bigint AS damaged_units,
           (sum(shipped_units) FILTER (WHERE status = 'shipped'))::bigint AS in_transit_units
    FROM retail.shipment_line
    WHERE purchase_order_line_id = l.id AND leg = 'supplier_in'
) sh ON true
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One order line with what has become of it."""

    id: int
    inv_key: str
    location: str
    sku: str
    name: str
    order_ref: str
    reorder_id: str | None
    supplier: str
    supplier_name: str
    status: orders_status.Status
    ordered_units: int
    confirmed_units: int | None
    cancelled_units: int
    order_units: int
    received_units: int
    damaged_units: int
    in_transit_units: int
    ordered_at: datetime
    due_on: date | None
    cost_minor: int | None
    pack_units: int
    recorded_at: datetime
    recorded_by: str | None
    today: date

    @property
    def open_units(self) -> int:
        """Ordered, not received, not cancelled."""
        return orders_status.open_units(
            ordered=self.ordered_units,
            confirmed=self.confirmed_units,
            cancelled=self.cancelled_units,
            received_for_order=self.order_units,
        )

    @property
    def is_overdue(self) -> bool:
        """Whether open units are late."""
        return orders_status.is_overdue(self.due_on, today=self.today, units=self.open_units)

    @property
    def days_late(self) -> int:
        """Days since the due day."""
        return 0 if self.due_on is None else max(0, (self.today - self.due_on).days)

    @property
    def promised_units(self) -> int:
        """What the supplier is to deliver in all."""
        asked = self.ordered_units if self.confirmed_units is None else self.confirmed_units
        return asked - self.cancelled_units

    @property
    def value_minor(self) -> int | None:
        """What the promised units cost; None where the cost is not known: none, or 0."""
        return self.promised_units * self.cost_minor if self.cost_minor else None

    @property
    def packs(self) -> int | None:
        """Whole packs of the promised units; None where they are no whole number of packs."""
        packs, rest = divmod(self.promised_units, self.pack_units)
        return None if rest else packs

    @property
    def version(self) -> str:
        """What changes with every write of the line."""
        return self.recorded_at.isoformat()

    def may(self, action: orders_status.Action) -> bool:
        """Whether the status knows the action; for templates see `actions`."""
        return (self.status, action) in orders_status.ALLOWED

    @property
    def actions(self) -> dict[str, bool]:
        """Every action with whether the status knows it."""
        return {action: self.may(action) for action in orders_status.ACTIONS}


_LINE: Final = f"""
SELECT l.id, l.inv_key, l.location, l.sku, coalesce(p.name, l.sku) AS name, l.order_ref,
       l.reorder_id, l.supplier, coalesce(su.name, l.supplier) AS supplier_name, l.status,
       l.ordered_units, l.confirmed_units, l.cancelled_units,
       coalesce(sh.order_units, 0) AS order_units,
       coalesce(sh.received_units, 0) AS received_units,
       coalesce(sh.damaged_units, 0) AS damaged_units,
       coalesce(sh.in_transit_units, 0) AS in_transit_units,
       l.ordered_at, l.due_on, l.cost_minor, coalesce(l.pack_units, 1) AS pack_units,
       l.recorded_at, l.recorded_by, (clock_timestamp() AT TIME ZONE 'UTC')::date AS today
FROM retail.purchase_order_line l
{_ARRIVED}
LEFT JOIN retail.product p ON p.code = l.sku
LEFT JOIN retail.supplier su ON su.code = l.supplier
"""  # noqa: S608 -- constants of this module


def order_lines(order_ref: str) -> list[Line]:
    """Every line of an order, oldest first."""
    return select(f"{_LINE} WHERE l.order_ref = %(ref)s ORDER BY l.id", {"ref": order_ref}, Line)


@dataclass(frozen=True, slots=True)
class Filters:
    """What the list is narrowed to; empty texts narrow nothing."""

    view: str = "open"
    location: str = ""
    supplier: str = ""
    text: str = ""

    def as_query(self) -> dict[str, str]:
        """The filters as they stand in the address."""
        pairs = {
            "view": self.view,
            "location": self.location,
            "supplier": self.supplier,
            "q": self.text,
        }
        return {name: given for name, given in pairs.items() if given}


@dataclass(frozen=True, slots=True)
class OrderRow:
    """One order of the list; its value is None where the cost of a line is not known."""

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

    @property
    def status(self) -> str:
        """One word for the whole order."""
        if self.drafts:
            return "draft"
        if self.closed_lines == self.lines:
            return "closed"
        return "part received" if self.open_units < self.units else "on its way"

    @property
    def is_below_minimum(self) -> bool:
        """Whether a draft is worth less than the supplier delivers for."""
        return bool(self.drafts) and (self.value_minor or 0) < self.minimum_order_minor


_HAVING: Final = {
    "draft": "bool_or(l.status = 'draft')",
    "open": "bool_or(l.status IN ('sent', 'confirmed'))",
    "closed": "bool_and(l.status = 'closed')",
}
# Lets the partial index of lines that are not closed find the orders.
_NARROWED: Final = {
    "draft": "l.order_ref IN (SELECT order_ref FROM retail.purchase_order_line"
    " WHERE status = 'draft')",
    "open": "l.order_ref IN (SELECT order_ref FROM retail.purchase_order_line"
    " WHERE status <> 'closed' AND status <> 'draft')",
    "closed": "true",
}


def _conditions(filters: Filters) -> tuple[str, dict[str, Any]]:
    where, parameters = ["true"], dict[str, Any]()
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
    """Up to 51 orders, the newest first; `before` is the `last_id` behind which the page begins."""
    where, parameters = _conditions(filters)
    sql = f"""
        WITH wanted AS (
            SELECT l.order_ref, max(l.id) AS last_id FROM retail.purchase_order_line l
            LEFT JOIN retail.product p ON p.code = l.sku
            WHERE {where} AND {_NARROWED[filters.view]}
            GROUP BY l.order_ref
            HAVING {_HAVING[filters.view]} AND (%(before)s::bigint IS NULL
                                                OR max(l.id) < %(before)s)
            ORDER BY last_id DESC LIMIT {PAGE_ROWS + 1}
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
               coalesce(bool_and(su.is_active), true) AS supplier_active
        FROM wanted w JOIN retail.purchase_order_line l ON l.order_ref = w.order_ref
        {_ARRIVED}
        LEFT JOIN retail.supplier su ON su.code = l.supplier
        LEFT JOIN app.purchase_order o ON o.order_ref = w.order_ref
        GROUP BY w.order_ref, w.last_id ORDER BY w.last_id DESC
    """  # noqa: S608 -- constants of this module
    return select(sql, parameters | {"before": before}, OrderRow)


def count_orders(filters: Filters) -> int:
    """Orders of a view, counted no further than a thousand."""
    _where, parameters = _conditions(filters)
    return int(select_value(counted_orders(filters), parameters))


def counted_orders(filters: Filters) -> str:
    """SQL for the number of orders of a view; without filters it has no parameters."""
    where, _parameters = _conditions(filters)
    return f"""SELECT count(*) FROM (
        SELECT 1 FROM retail.purchase_order_line l LEFT JOIN retail.product p ON p.code = l.sku
        WHERE {where} AND {_NARROWED[filters.view]}
        GROUP BY l.order_ref HAVING {_HAVING[filters.view]} LIMIT {MOST_COUNTED}) few"""  # noqa: S608 -- constants of this module


_LATE: Final = f"l.status IN ('sent', 'confirmed') AND {OVERDUE_SQL}"


def overdue_lines(filters: Filters, *, after: tuple[date, int] | None = None) -> list[Line]:
    """Up to 51 lines whose due day is over, the latest first."""
    where, parameters = _conditions(filters)
    if after is not None:
        where += " AND (l.due_on, l.id) > (%(due)s, %(id)s)"
        parameters |= {"due": after[0], "id": after[1]}
    sql = f"{_LINE} WHERE {where} AND {_LATE} ORDER BY l.due_on, l.id LIMIT {PAGE_ROWS + 1}"
    return select(sql, parameters, Line)


def count_overdue(filters: Filters) -> int:
    """Late lines, counted no further than a thousand."""
    where, parameters = _conditions(filters)
    sql = f"""SELECT count(*) FROM (
        SELECT 1 FROM retail.purchase_order_line l {_ARRIVED}
        LEFT JOIN retail.product p ON p.code = l.sku
        WHERE {where} AND {_LATE} LIMIT {MOST_COUNTED}) few"""  # noqa: S608 -- constants of this module
    return int(select_value(sql, parameters))


@dataclass(frozen=True, slots=True)
class Header:
    """Who an order goes to, where the goods go, and the terms it is under."""

    order_ref: str
    supplier: str
    supplier_name: str
    supplier_email: str
    supplier_address: str
    supplier_active: bool
    minimum_order_minor: int
    order_days_mask: int
    lead_time_centidays: int
    location: str
    location_name: str
    location_address: str
    is_automatic: bool
    sent_at: datetime | None
    sent_by: str | None


def header(order_ref: str) -> Header | None:
    """The head of an order; None without any line."""
    return select_one(
        """SELECT l.order_ref, l.supplier, coalesce(su.name, l.supplier) AS supplier_name,
                  coalesce(su.email, '') AS supplier_email,
                  coalesce(su.address, '') AS supplier_address,
                  coalesce(su.is_active, true) AS supplier_active,
                  coalesce(su.minimum_order_minor, 0) AS minimum_order_minor,
                  coalesce(su.order_days_mask, 127) AS order_days_mask,
                  coalesce(su.lead_time_centidays, 0) AS lead_time_centidays,
                  l.location, coalesce(lo.name, l.location) AS location_name,
                  coalesce(lo.address, '') AS location_address,
                  coalesce(o.is_automatic, false) AS is_automatic, o.sent_at, o.sent_by
           FROM retail.purchase_order_line l
           LEFT JOIN retail.supplier su ON su.code = l.supplier
           LEFT JOIN retail.location lo ON lo.code = l.location
           LEFT JOIN app.purchase_order o ON o.order_ref = l.order_ref
           WHERE l.order_ref = %(ref)s ORDER BY l.id LIMIT 1""",
        {"ref": order_ref},
        Header,
    )


@dataclass(frozen=True, slots=True)
class Done:
    """One entry of an order's history."""

    at: datetime
    actor: str | None
    action: str
    subject: str
    detail: Any

    @property
    def words(self) -> str:
        """The numbers of the entry in one line."""
        left_out = {"order", "lines"} if self.action == "send_order" else {"order"}
        shown = {n: v for n, v in self.detail.items() if v is not None and n not in left_out}
        return ", ".join(_said(name, value) for name, value in shown.items())


def _said(name: str, value: object) -> str:
    """`units 12`, `value 30.00`, `received 5 to 7`: a number of an entry, or how it changed."""
    words = name.removesuffix("_minor").replace("_", " ")
    if isinstance(value, list):
        return f"{words} {' to '.join(map(str, value))}"
    if isinstance(value, int) and name.endswith("_minor"):
        return f"{words} {money_text(value)}"
    return f"{words} {value}"


def history(order_ref: str) -> list[Done]:
    """What people did to an order and its lines, the newest 100."""
    return select(
        """SELECT at, actor, action, subject, detail FROM app.action_log
           WHERE detail ->> 'order' = %(ref)s ORDER BY id DESC LIMIT 100""",
        {"ref": order_ref},
        Done,
    )
