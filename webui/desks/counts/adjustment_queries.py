"""Queries about adjustments: requests that wait for approval, and adjustments in the ledger."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from inventory.tables.stock_adjustment import SIGNS
from ledger.kernel.rows import select, select_one, select_value
from ledger.messages import gettext_noop
from ledger.services import on_hand_sign, unavailable_sign
from webui.readmodel.alphabet import alphabetic
from webui.shell.keyset import MOST_SUMMED, Keys, Page, Place, Sortable, cut, parameters
from webui.shell.listing import Column, Sort


@dataclass(frozen=True, slots=True)
class ItemStock:
    """An item as the preview of an adjustment shows it.

    `on_hand_units` is computed from all facts of the ledger. `unavailable_units` comes from the
    read model, and is None until the read model has a row for the item.
    """

    name: str
    on_hand_units: int
    unavailable_units: int | None


def item_stock(location: str, sku: str) -> ItemStock | None:
    """Return the name and the units of an item. The name of an unknown product is its SKU."""
    sql = """
        SELECT coalesce(p.name, given.sku) AS name, e.expected_units AS on_hand_units,
               s.unavailable_units
        FROM (SELECT %(sku)s AS sku, %(location)s || '|' || %(sku)s AS inv_key) given
        CROSS JOIN LATERAL app.expected_at(given.inv_key, 'infinity', 9223372036854775807) e
        LEFT JOIN retail.product p ON p.code = given.sku
        LEFT JOIN read_model.stock s ON s.inv_key = given.inv_key
        """
    return select_one(sql, {"location": location, "sku": sku}, ItemStock)


@dataclass(frozen=True, slots=True)
class Request:
    """A request for an adjustment that needs another person's approval.

    `decided_by` is the person who has approved or refused the request; None while it waits.
    """

    id: int
    location: str
    sku: str
    name: str
    reason: str
    quantity_units: int
    occurred_at: datetime
    value_minor: int | None
    note: str
    status: str
    requested_by: str
    requested_at: datetime
    decided_by: str | None
    decision_reason: str | None

    @property
    def id_text(self) -> str:
        """The id as text, for ids of elements on the page."""
        return str(self.id)


_REQUEST: Final = """
SELECT r.id, r.location, r.sku, coalesce(p.name, r.sku) AS name, r.reason, r.quantity_units,
       r.occurred_at, r.value_minor, r.note, r.status, r.requested_by, r.requested_at,
       r.decided_by, r.decision_reason
FROM app.adjustment_request r LEFT JOIN retail.product p ON p.code = r.sku
"""


@dataclass(frozen=True, slots=True)
class ListedRequest(Request):
    """A request on a page; `mark` is its value in the sorted column.

    `on_hand_units` is on-hand now. `is_before_count` is True if an approved count was taken in
    the same second as the adjustment, or later. Such an adjustment doesn't change on-hand
    (docs/domain.md 2.4).
    """

    on_hand_units: int
    is_before_count: bool
    mark: str

    @property
    def key(self) -> int:
        """The id of the request, by which the paged list identifies the row."""
        return self.id

    @property
    def after_units(self) -> int:
        """On-hand after approval of this request."""
        if self.is_before_count:
            return self.on_hand_units
        return self.on_hand_units + on_hand_sign(self.reason) * self.quantity_units


WAITING: Final = Keys(
    {
        "item": Sortable(alphabetic("coalesce(p.name, r.sku)")),
        "store": Sortable(alphabetic("coalesce(lo.name, r.location)")),
        "reason": Sortable("r.reason"),
        "units": Sortable("r.quantity_units", "bigint"),
        "worth": Sortable("coalesce(r.value_minor, -1)", "bigint"),
        "asked": Sortable("r.requested_at", "timestamptz"),
    },
    key="r.id",
    default=Sort("store"),
)
WAITING_HEADS: Final = (
    Column("item", gettext_noop("Item")),
    Column("store", gettext_noop("Store")),
    Column("reason", gettext_noop("Reason")),
    Column("units", gettext_noop("Units"), "n", largest_first=True),
    Column("", gettext_noop("On hand before and after"), "n"),
    Column("worth", gettext_noop("Worth"), "n", largest_first=True),
    Column("asked", gettext_noop("Asked for")),
    Column("", gettext_noop("Decision"), "do", is_hidden=True),
)
# `app.expected_at` returns on-hand now for the time `infinity`.
_ON_HAND: Final = """today.expected_units AS on_hand_units,
       EXISTS (SELECT FROM retail.approved_count c WHERE c.inv_key = k.inv_key
           AND c.business_at >= date_trunc('second', r.occurred_at)) AS is_before_count"""
_TODAY: Final = """CROSS JOIN LATERAL (SELECT r.location || '|' || r.sku AS inv_key) k
    CROSS JOIN LATERAL app.expected_at(k.inv_key, 'infinity', 9223372036854775807) today"""
_IS_WAITING: Final = "r.status = 'waiting' AND (%(location)s = '' OR r.location = %(location)s)"


def waiting_page(place: Place, *, location: str) -> Page[ListedRequest]:
    """Return one page of the adjustments that wait for another person's approval."""
    source = f"""FROM app.adjustment_request r LEFT JOIN retail.product p ON p.code = r.sku
        LEFT JOIN retail.location lo ON lo.code = r.location WHERE {_IS_WAITING}"""
    columns, _, rest = _REQUEST.partition("FROM")
    sql = f"""WITH shown AS ({WAITING.shown_sql(source, place)})
        {columns}, {_ON_HAND}, shown.mark FROM {rest}
        JOIN shown ON shown.key = r.id {_TODAY} ORDER BY shown.place"""
    return cut(select(sql, {"location": location, **parameters(place)}, ListedRequest), place)


def waiting_number(*, location: str) -> int:
    """Return the number of adjustments that wait for an approval, capped at 10,001."""
    few = f"SELECT FROM app.adjustment_request r WHERE {_IS_WAITING} LIMIT {MOST_SUMMED + 1}"
    return int(select_value(f"SELECT count(*) FROM ({few}) few", {"location": location}))  # noqa: S608 -- the line above


def requests_of(person: str) -> list[Request]:
    """Return the newest 10 requests of a person with their status."""
    sql = f"{_REQUEST} WHERE r.requested_by = %(person)s ORDER BY r.id DESC LIMIT 10"
    return select(sql, {"person": person}, Request)


@dataclass(frozen=True, slots=True)
class AdjustmentInHistory:
    """An adjustment in the ledger; `mark` is its value in the sorted column.

    `note` is None if the person wrote none, or if another program booked the adjustment.
    """

    id: int
    location: str
    sku: str
    name: str
    reason: str
    quantity_units: int
    occurred_at: datetime
    recorded_by: str | None
    note: str | None
    mark: str

    @property
    def key(self) -> int:
        """The id of the adjustment, by which the paged list identifies the row."""
        return self.id

    @property
    def on_hand_units(self) -> int:
        """The movement of on-hand, with its sign."""
        return on_hand_sign(self.reason) * self.quantity_units

    @property
    def unavailable_units(self) -> int:
        """The movement of unavailable stock, with its sign."""
        return unavailable_sign(self.reason) * self.quantity_units


# SQL for the direction in which an adjustment moves on-hand: 1, 0 or -1.
_BY_REASON: Final = " ".join(f"WHEN '{code}' THEN {signs[0]}" for code, signs in SIGNS.items())
_SIGN_SQL: Final = f"CASE a.reason {_BY_REASON} END"
HISTORY: Final = Keys(
    {
        "item": Sortable(alphabetic("coalesce(p.name, a.sku)")),
        "store": Sortable(alphabetic("coalesce(lo.name, a.location)")),
        "at": Sortable("a.occurred_at", "timestamptz"),
        "reason": Sortable("a.reason"),
        "units": Sortable(f"(a.quantity_units * {_SIGN_SQL})", "bigint"),
        "by": Sortable("lower(coalesce(a.recorded_by, ''))"),
        "number": Sortable("a.id", "bigint"),
    },
    key="a.id",
    default=Sort("number", descending=True),
)
HISTORY_HEADS: Final = (
    Column("item", gettext_noop("Item")),
    Column("store", gettext_noop("Store")),
    Column("at", gettext_noop("Happened"), largest_first=True),
    Column("reason", gettext_noop("Reason")),
    Column("units", gettext_noop("On hand"), "n", largest_first=True),
    Column("", gettext_noop("Unavailable"), "n"),
    Column("by", gettext_noop("By")),
)
_ADJUSTED: Final = """FROM retail.stock_adjustment a
    LEFT JOIN retail.product p ON p.code = a.sku
    LEFT JOIN retail.location lo ON lo.code = a.location"""
_NOTE: Final = """LEFT JOIN LATERAL (
        SELECT detail ->> 'note' AS note FROM app.action_log
        WHERE subject = a.inv_key AND action = 'adjust'
          AND (detail ->> 'adjustment')::bigint = a.id
        ORDER BY id DESC LIMIT 1) noted ON true"""
_OF_ITEM: Final = """(%(location)s = '' OR a.location = %(location)s)
    AND (%(sku)s = '' OR a.sku = %(sku)s)"""


def history_page(place: Place, *, location: str = "", sku: str = "") -> Page[AdjustmentInHistory]:
    """Return one page of the adjustments in the ledger."""
    sql = f"""WITH shown AS ({HISTORY.shown_sql(f"{_ADJUSTED} WHERE {_OF_ITEM}", place)})
        SELECT a.id, a.location, a.sku, coalesce(p.name, a.sku) AS name, a.reason,
               a.quantity_units, a.occurred_at, a.recorded_by, noted.note, shown.mark
        {_ADJUSTED} {_NOTE} JOIN shown ON shown.key = a.id ORDER BY shown.place"""
    given = {"location": location, "sku": sku, **parameters(place)}
    return cut(select(sql, given, AdjustmentInHistory), place)


def history_number(*, location: str, sku: str) -> int:
    """Return the number of adjustments in the ledger, capped at 10,001."""
    few = f"SELECT FROM retail.stock_adjustment a WHERE {_OF_ITEM} LIMIT {MOST_SUMMED + 1}"
    given = {"location": location, "sku": sku}
    return int(select_value(f"SELECT count(*) FROM ({few}) few", given))  # noqa: S608 -- the line above


def adjustment_limit_minor() -> int:
    """Return the value in minor units above which an adjustment needs two people."""
    return int(select_value("SELECT adjustment_limit_minor FROM app.setting"))
