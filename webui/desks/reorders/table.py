"""The table of needs: its rows in the order of a column, page by page, and its totals.

Open needs have two sections: needs that a buyer should look at, and routine needs. The rule that
divides them is `inventory.replenishment.attention`. Postgres filters and sorts by this rule, so
this module repeats the rule in SQL. A test compares both versions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from django.utils.translation import gettext

from inventory.replenishment.attention import SENTENCES, URGENCIES
from ledger.kernel.rows import select
from webui.readmodel.alphabet import alphabetic
from webui.readmodel.figures import Covered
from webui.readmodel.proposals import Decidable, reorder_conditions
from webui.shell.keyset import fits
from webui.shell.listing import Sort, cursor_text, split_cursor

LOOK_AT, ROUTINE = 0, 1
DEFAULT_SORT: Final = "urgency"


@dataclass(frozen=True, slots=True)
class NeedRow(Covered, Decidable):
    """One need with the figures of its row.

    `section` is 0 if a person should look at the need, else 1. `urgency` is 0 for an item that is
    sold out, 1 if the stock ends before a delivery, else 2. `mark` is the value of the sorted
    column as text. `held_until_us` is the end of the hold that this need has caused, in µs since
    1970 UTC; None without such a hold.
    """

    reorder_id: str
    inv_key: str
    location: str
    store: str
    sku: str
    name: str
    supplier: str
    supplier_name: str
    revision: int
    status: str
    reason: str | None
    quantity_units: int | None
    pack_units: int
    cost_minor: int
    value_minor: int
    updated_at: datetime
    decided_action: str | None
    decided_by: str | None
    decided_at: datetime | None
    decided_units: int | None
    on_hand_units: int | None
    available_to_sell_units: int
    in_transit_units: int
    rate_micro: int
    held_until_us: int | None
    attention: list[str]
    urgency: int
    section: int
    mark: str

    @property
    def input_pack(self) -> int:
        """Units per step of the input: the pack, or 1 if the quantity isn't a multiple of it."""
        return 1 if (self.quantity_units or 0) % self.pack_units else self.pack_units

    @property
    def packs(self) -> int:
        """The proposed quantity in packs, or in units if it isn't a multiple of the pack."""
        return (self.quantity_units or 0) // self.input_pack

    @property
    def cursor(self) -> str:
        """The position of this row in its list, for the URL of the next or previous page."""
        return f"{self.section}~{cursor_text(self.mark, self.reorder_id)}"

    @property
    def why(self) -> str:
        """The first reason to look at the need, or how soon the item runs out."""
        return self.whys[0]

    @property
    def whys(self) -> Sequence[str]:
        """All reasons to look at the need; for a routine need, how soon the item runs out."""
        codes = [gettext(SENTENCES.get(code, code.replace("_", " "))) for code in self.attention]
        return codes or [URGENCIES[self.urgency]]


@dataclass(frozen=True, slots=True)
class Total:
    """The number of needs of a section, and their value at cost in minor units."""

    section: int
    needs: int
    value_minor: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """A page of the table: view, filters, sort and position.

    A sort that begins with `-` is descending. The page begins after the row with the cursor
    `after`, or ends before the row with the cursor `before`. Without a cursor, this is the first
    page, with needs of every section.
    """

    view: str
    location: str = ""
    supplier: str = ""
    sort: str = DEFAULT_SORT
    after: str = ""
    before: str = ""

    @property
    def order(self) -> Sort:
        """The sort as a column and its direction."""
        return Sort(self.sort.removeprefix("-"), self.sort.startswith("-"))


# {sortable column: (SQL of its value, SQL type of this value)}. The factor 10^16 makes urgency
# outweigh the money of any need, which is far below 10^16 minor units.
_SORTS: Final[Mapping[str, tuple[str, str]]] = {
    "urgency": ("(a.urgency * 10000000000000000::bigint - v.value_minor)", "bigint"),
    "item": (alphabetic("coalesce(p.name, r.sku)"), "text"),
    "store": (alphabetic("coalesce(lo.name, r.location)"), "text"),
    "supplier": (alphabetic("v.supplier_name"), "text"),
    "on_hand": ("coalesce(s.on_hand_units, 0)", "bigint"),
    "cover": ("coalesce(c.cover_centidays, 10000000000000000::numeric)", "numeric"),
    "units": ("coalesce(r.quantity_units, 0)", "bigint"),
    "money": ("v.value_minor", "bigint"),
    "updated": ("r.updated_at", "timestamptz"),
}
SORTS: Final = frozenset(_SORTS)
# True if an open task asks to count the item because it may be missing.
PHANTOM_SQL: Final = """EXISTS (SELECT FROM app.task t WHERE t.kind = 'phantom_suspect'
    AND t.subject = {key} AND t.cleared_at IS NULL AND t.opened_at IS NOT NULL)"""
# A cover in days is units / rate. `_COVERED` / rate_micro is the cover in hundredths of a day: the
# factor 10^8 comes from 100 centidays a day and from the rate in millionths of a unit.
_IS_COVERED: Final = "(v.rate_micro > 0 AND s.sku IS NOT NULL)"
_COVERED: Final = """(greatest(0, s.available_to_sell_units)
        + greatest(0, s.in_transit_units))::numeric * 100000000"""
# {code of a reason to look at a need: its SQL condition}, in the order of `attention`.
_REASONS: Final[Mapping[str, str]] = {
    "no_supplier": "v.supplier = ''",
    "supplier_inactive": "NOT v.supplier_active",
    "below_zero": "s.on_hand_units < 0",
    "maybe_missing": PHANTOM_SQL.format(key="r.inv_key"),
    "odd_units": "mod(coalesce(r.quantity_units, 0), v.pack_units) <> 0",
    "above_limit": "il.auto_max_minor > 0 AND v.value_minor > il.auto_max_minor",
}
_CASES: Final = ", ".join(f"CASE WHEN {rule} THEN '{code}' END" for code, rule in _REASONS.items())
ATTENTION_SQL: Final = f"array_remove(ARRAY[{_CASES}], NULL) || r.flags"
# The section of a need in SQL. It repeats the conditions of `_REASONS` instead of using
# `ATTENTION_SQL`, because building the array of codes for every need would be slower.
_SECTION_SQL: Final = f"""CASE WHEN {" OR ".join(f"({rule})" for rule in _REASONS.values())}
        OR cardinality(r.flags) > 0 THEN {LOOK_AT} ELSE {ROUTINE} END"""
# A need has urgency 1 if its cover x / r, in full centidays, is below the lead time L. The
# condition floor(x / r) < L is the same as x < L·r. The SQL has the product, because Postgres
# divides numerics slowly.
URGENCY_SQL: Final = f"""CASE WHEN NOT {_IS_COVERED} THEN 2
        WHEN s.available_to_sell_units <= 0 THEN 0
        WHEN {_COVERED} < v.lead_time_centidays::numeric * v.rate_micro THEN 1 ELSE 2 END"""
_FROM: Final = f"""
FROM app.reorder_proposal r
LEFT JOIN retail.item_location il ON il.inv_key = r.inv_key
LEFT JOIN retail.product p ON p.code = r.sku
LEFT JOIN retail.location lo ON lo.code = r.location
LEFT JOIN retail.supplier su ON su.code = coalesce(r.supplier, il.supplier)
LEFT JOIN read_model.stock s ON {{stock}}
CROSS JOIN LATERAL (
    SELECT coalesce(r.supplier, il.supplier, '') AS supplier,
           coalesce(su.name, r.supplier, il.supplier, 'No supplier') AS supplier_name,
           coalesce(su.is_active, true) AS supplier_active,
           coalesce(il.pack_units, 1) AS pack_units,
           coalesce(il.cost_minor, r.cost_minor) AS cost_minor,
           coalesce(r.quantity_units, 0) * coalesce(il.cost_minor, r.cost_minor) AS value_minor,
           coalesce(nullif(il.lead_time_centidays, 0), su.lead_time_centidays, 0)
               AS lead_time_centidays,
           coalesce(s.demand_rate_micro, il.initial_rate_micro, 0) AS rate_micro
) v
CROSS JOIN LATERAL (
    SELECT CASE WHEN {_IS_COVERED} THEN div({_COVERED}, v.rate_micro) END AS cover_centidays
) c
CROSS JOIN LATERAL (
    SELECT {ATTENTION_SQL} AS attention,
           {URGENCY_SQL} AS urgency
) a
CROSS JOIN LATERAL (SELECT {_SECTION_SQL} AS section) g
"""
# `_IN_LIST` is for queries of all open or held needs. It joins the stock by location and SKU,
# because the index `stock_list` has these columns, but no `inv_key`. `_BY_KEY` is for all other
# queries. It joins the stock by its primary key, so Postgres drops the join if the query uses no
# column of the stock.
_IN_LIST: Final = _FROM.format(stock="s.location = r.location AND s.sku = r.sku")
_BY_KEY: Final = _FROM.format(stock="s.inv_key = r.inv_key")
_COLUMNS: Final = """
SELECT r.reorder_id, r.inv_key, r.location, coalesce(lo.name, r.location) AS store, r.sku,
       coalesce(p.name, r.sku) AS name, v.supplier, v.supplier_name, r.revision, r.status,
       r.reason, r.quantity_units, v.pack_units, v.cost_minor, v.value_minor, r.updated_at,
       r.decided_action, r.decided_by, r.decided_at, r.decided_units, s.on_hand_units,
       coalesce(s.available_to_sell_units, 0) AS available_to_sell_units,
       coalesce(s.in_transit_units, 0) AS in_transit_units, v.rate_micro,
       CASE WHEN s.reorder_id = r.reorder_id AND s.episode_state LIKE 'held-%%'
           THEN (s.state::json #>> '{{episode,until_us}}')::bigint END AS held_until_us,
       a.attention, a.urgency, {section} AS section, ({value})::text AS mark
"""
# Leave out needs that are being sent: a notice above the table shows them.
_NOT_SENDING: Final = """NOT EXISTS (SELECT FROM app.pending_item i
    WHERE i.kind = 'need' AND i.subject = r.reorder_id AND i.is_waiting)"""


def counted_open(*, most: int) -> str:
    """Return SQL that counts the open needs that are not being sent, up to `most`."""
    where = " AND ".join((*reorder_conditions("open", "", ""), _NOT_SENDING))
    few = f"SELECT 1 FROM app.reorder_proposal r WHERE {where} LIMIT {most}"  # noqa: S608 -- conditions of this project
    return f"SELECT count(*) FROM ({few}) few"  # noqa: S608 -- the line above


# Totals and sort order need three values of every need: section, sorted value and money. Postgres
# computes them once, and reads all other values only for the shown needs.
_CHOSEN: Final = """
WITH needs AS MATERIALIZED (
    SELECT r.reorder_id, {section} AS section, {value} AS sorted, {money} AS value_minor
    {joined} WHERE {where}
)
SELECT s.section, count(*) AS needs, coalesce(sum(s.value_minor), 0)::bigint AS value_minor,
       ARRAY(SELECT n.reorder_id FROM needs n WHERE n.section = s.section {beyond}
             ORDER BY n.sorted {direction}, n.reorder_id {direction} LIMIT %(rows)s) AS shown
FROM needs s GROUP BY s.section ORDER BY s.section
"""
_BEYOND: Final = """AND n.section = %(c_section)s
             AND (n.sorted, n.reorder_id) {beyond} (%(c_mark)s::{type}, %(c_id)s)"""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The total of a section, and the ids of its shown needs."""

    section: int
    needs: int
    value_minor: int
    shown: list[str]

    @property
    def total(self) -> Total:
        """The total of the section, without the ids of its needs."""
        return Total(self.section, self.needs, self.value_minor)


@dataclass(frozen=True, slots=True)
class NeedPage:
    """The shown needs by section, in the order of the table, and the total of each section.

    Totals cover all pages. The view of closed needs has no totals.
    """

    rows: list[NeedRow]
    totals: list[Total]


@dataclass(frozen=True, slots=True)
class _Order:
    """The order of a page of needs, and the row (`cursor`) at which the page begins or ends.

    `section` and `value` are the SQL of the section and of the sorted value, and `type` is the SQL
    type of this value. `is_back` is True for the page before the cursor. Postgres reads this page
    backwards, so `direction` is then the reverse of the direction that people see.
    """

    section: str
    value: str
    type: str
    direction: str
    cursor: tuple[int, str, str] | None
    is_back: bool


def without_crafted_cursor(wanted: Wanted) -> Wanted:
    """Return `wanted`, or its first page if its cursor doesn't have the format of this sort.

    People can edit the cursor in the URL.
    """
    _, kind = _SORTS[wanted.order.column]
    is_one = _cursor(wanted.before or wanted.after, kind) is not None
    return wanted if is_one else replace(wanted, after="", before="")


def need_page(wanted: Wanted, rows: int) -> NeedPage:
    """Return at most `rows` needs of each section, or of the section that the cursor names."""
    order, (where, given) = _order_of(wanted), _conditions(wanted)
    has_totals = wanted.view != "closed"
    if order.cursor is not None:
        given |= dict(zip(("c_section", "c_mark", "c_id"), order.cursor, strict=True))
    sql = _CHOSEN.format(
        section=order.section,
        value=order.value,
        money="v.value_minor" if has_totals else "0",
        joined=_IN_LIST if has_totals else _BY_KEY,
        where=" AND ".join(where),
        beyond=_beyond(order),
        direction=order.direction,
    )
    chosen = select(sql, given | {"rows": rows}, _Chosen)
    found = _needs([need for section in chosen for need in section.shown], wanted, order)
    totals = [section.total for section in chosen] if has_totals else []
    return NeedPage(found[::-1] if order.is_back else found, totals)


def _needs(ids: Sequence[str], wanted: Wanted, order: _Order) -> list[NeedRow]:
    """Return the rows of these needs in the order of the page, reversed if `order.is_back`.

    Leave out needs that have left the view since another query found `ids`.
    """
    where, given = _conditions(wanted)
    columns = _COLUMNS.format(section=order.section, value=order.value)
    sql = f"""{columns} {_BY_KEY} WHERE r.reorder_id = ANY(%(ids)s) AND {" AND ".join(where)}
        ORDER BY section, {order.value} {order.direction}, r.reorder_id {order.direction}"""
    return select(sql, given | {"ids": [*ids]}, NeedRow) if ids else []


def _order_of(wanted: Wanted) -> _Order:
    value, kind = _SORTS[wanted.sort.removeprefix("-")]
    cursor = _cursor(wanted.before or wanted.after, kind)
    is_back = bool(wanted.before) and cursor is not None
    direction = "DESC" if wanted.sort.startswith("-") is not is_back else "ASC"
    section = "g.section" if wanted.view == "open" else "1"
    return _Order(section, value, kind, direction, cursor, is_back)


def _beyond(order: _Order) -> str:
    if order.cursor is None:
        return ""
    return _BEYOND.format(beyond=">" if order.direction == "ASC" else "<", type=order.type)


def _conditions(wanted: Wanted) -> tuple[list[str], dict[str, Any]]:
    where = reorder_conditions(wanted.view, wanted.location, wanted.supplier)
    if wanted.view == "open":
        where.append(_NOT_SENDING)
    return where, {"location": wanted.location, "supplier": wanted.supplier}


def _cursor(text: str, kind: str) -> tuple[int, str, str] | None:
    """Return section, value and need id from a cursor; None if the format of `text` is wrong."""
    section, _, rest = text.partition("~")
    mark, reorder_id = split_cursor(rest)
    if section not in {str(LOOK_AT), str(ROUTINE)} or "~" not in rest or not fits(mark, kind):
        return None
    return int(section), mark, reorder_id
