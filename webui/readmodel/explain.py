"""Queries that explain a figure of stock: the facts of one key, ordered by business time.

The database function `retail.stock_facts` computes on-hand after each fact as a running sum,
without any code of the workers. The pages compare this sum with the figure of the workers. A
difference reveals a defect.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Final

from cdc.contracts.times import us_of
from cdc.contracts.topics import ON_HAND_CHANGELOG
from cdc.deciding import NEWEST_SWITCH
from cdc.window_lines import LACKS_LINES, LEDGER_LINES, WINDOW_OF_FACT
from inventory.explain.arrival import arrival
from inventory.explain.lines import Source
from inventory.explain.stock import Cause, CountFact, Document, StockFacts
from ledger.access.scope import current
from ledger.kernel.rows import select, select_one, select_value
from webui.readmodel.figures import PRICE_SQL, PRICED_AT_SQL, Covered

FACTS_SHOWN: Final = 25
WINDOWS_SHOWN: Final = 24
_LAST_PLACE: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Fact:
    """One movement or count of a key; `delta_units` of a count is its variance.

    `place` is the number of the fact, from 1 on, in the order of business times. `running_units` is
    on-hand after the fact. `heard_at` is an estimate of the key's stream time when the fact reached
    the workers.
    """

    place: int
    table_name: str
    row_id: int
    kind: str
    business_at: datetime
    recorded_at: datetime
    heard_at: datetime
    actor: str | None
    document: str
    counted_units: int | None
    delta_units: int
    running_units: int
    is_before_count: bool
    late_lines: int | None
    lacks_lines: bool

    @property
    def arrival(self) -> str:
        """Return `on_time`, `late_counted` or `late_uncounted` (`inventory.explain.arrival`).

        Facts other than sale and return lines are always on time.
        """
        if self.table_name != "sale_line":
            return "on_time"
        business_us, heard_us = us_of(self.business_at), us_of(self.heard_at)
        return arrival(business_us, heard_us, self.late_lines, lacks_lines=self.lacks_lines)


_FACT: Final = f"""
SELECT f.place, f.table_name, f.row_id, f.kind, f.business_at, f.recorded_at, f.heard_at,
       f.actor, f.document, f.counted_units, f.delta_units, f.running_units, f.is_before_count,
       w.late_lines, {LACKS_LINES}
FROM (SELECT f.*, {LEDGER_LINES} FROM retail.stock_facts(%(key)s) f) f {WINDOW_OF_FACT}
"""  # noqa: S608 -- constants of this project


def facts(inv_key: str, *, limit: int = FACTS_SHOWN, to: int | None = None) -> list[Fact]:
    """Return the last `limit` facts of a key up to fact number `to`, ordered by business time."""
    sql = f"{_FACT} WHERE f.place <= %(to)s ORDER BY f.place DESC LIMIT %(limit)s"
    return select(sql, {"key": inv_key, "limit": limit, "to": to or _LAST_PLACE}, Fact)[::-1]


def facts_of_windows(inv_key: str, starts: Sequence[int]) -> list[Fact]:
    """Return the sale and return lines of these windows, in the order of their recording."""
    if not starts:
        return []
    sql = f"{_FACT} WHERE w.start_us = ANY(%(starts)s) ORDER BY f.recorded_at, f.place"
    return select(sql, {"key": inv_key, "starts": list(starts)}, Fact)


@dataclass(frozen=True, slots=True)
class _Split:
    """A row of `retail.stock_split`: the last count, or the sum of later movements of one cause."""

    cause: str
    units: int
    facts: int
    detail: str
    count_id: int | None
    counted_at: datetime | None
    actor: str | None


def stock_facts(inv_key: str) -> StockFacts:
    """Return a key's last count, later movements by cause, and open order lines and shipments."""
    rows = select("SELECT * FROM retail.stock_split(%(key)s)", {"key": inv_key}, _Split)
    count = next(
        (
            CountFact(row.count_id, row.units, us_of(row.counted_at), row.detail, row.actor)
            for row in rows
            if row.count_id is not None and row.counted_at is not None
        ),
        None,
    )
    causes = (Cause(r.cause, r.units, r.facts, r.detail) for r in rows if r.cause != "count")
    documents = (
        Document(
            found.document,
            found.detail,
            Source(found.table_name, found.row_id, found.actor),
            found.on_order_units,
            found.in_transit_units,
        )
        for found in inbound(inv_key)
    )
    return StockFacts(count, tuple(causes), tuple(documents))


@dataclass(frozen=True, slots=True)
class _Author:
    """A row of the ledger, and the person who wrote it. `actor` is None if a program wrote it."""

    table_name: str
    row_id: int
    actor: str | None


_AUTHORS: Final = """
SELECT 'price_change' AS table_name, id AS row_id, recorded_by AS actor FROM retail.price_change
WHERE inv_key = %(key)s
UNION ALL
SELECT 'item_location', id, recorded_by FROM retail.item_location WHERE inv_key = %(key)s
UNION ALL
(SELECT 'reorder_decision', id, recorded_by FROM retail.reorder_decision
 WHERE inv_key = %(key)s AND reorder_id = %(reorder)s ORDER BY id DESC LIMIT 1)
"""


def authors(inv_key: str, reorder_id: str | None) -> list[Source]:
    """Return the authors of a key's prices and policy, and of the last decision on a need."""
    found = select(_AUTHORS, {"key": inv_key, "reorder": reorder_id}, _Author)
    return [Source(row.table_name, row.row_id, row.actor) for row in found]


@dataclass(frozen=True, slots=True)
class Item(Covered):
    """The read model's row of one key, with the names of item and location.

    `_minor` means minor currency units, `_micro` millionths of a unit per day, and `_us`
    microseconds since 1970 UTC. `as_of_us` is the commit time of the newest record of the key's
    partition that the read model includes. `state` is the worker's state of the key as JSON.
    """

    inv_key: str
    location: str
    sku: str
    name: str
    location_name: str
    on_hand_units: int
    unavailable_units: int
    on_order_units: int
    in_transit_units: int
    allocated_units: int
    available_to_sell_units: int
    stock_known: bool
    base_position_units: int
    requested_units: int
    reorder_point_units: int | None
    order_up_to_units: int | None
    demand_rate_micro: int | None
    rate_micro: int
    price_minor: int | None
    priced_at_us: int
    episode_state: str
    reorder_id: str | None
    policy_active: bool
    stream_time_us: int | None
    generation: int
    partition: int
    offset: int
    logic_revision: int
    deciding_revision: int | None
    as_of_us: int
    state: str


def item(inv_key: str) -> Item | None:
    """Return the row of a key, or None if the read model has none."""
    return select_one(
        f"""
        SELECT s.inv_key, s.location, s.sku, coalesce(p.name, s.sku) AS name,
               coalesce(l.name, s.location) AS location_name,
               s.on_hand_units, s.unavailable_units, s.on_order_units, s.in_transit_units,
               s.allocated_units, s.available_to_sell_units, s.stock_known, s.base_position_units,
               s.requested_units, s.reorder_point_units, s.order_up_to_units, s.demand_rate_micro,
               coalesce(s.demand_rate_micro, il.initial_rate_micro, 0) AS rate_micro,
               {PRICE_SQL} AS price_minor, {PRICED_AT_SQL} AS priced_at_us,
               s.episode_state, s.reorder_id, s.policy_active, s.stream_time_us,
               s.generation, s.partition, s."offset", s.logic_revision,
               (SELECT newest.revision FROM ({NEWEST_SWITCH}) newest) AS deciding_revision,
               greatest(at.as_of_us, s.as_of_us) AS as_of_us, s.state
        FROM read_model.stock s
        LEFT JOIN retail.product p ON p.code = s.sku
        LEFT JOIN retail.location l ON l.code = s.location
        LEFT JOIN retail.item_location il ON il.inv_key = s.inv_key
        LEFT JOIN read_model.sink_position at
            ON at.sink = 'projector' AND at.topic = %(topic)s AND at.partition = s.partition
        WHERE s.inv_key = %(key)s
        """,  # noqa: S608 -- the price is a constant of this project
        {"key": inv_key, "topic": ON_HAND_CHANGELOG},
        Item,
    )


@dataclass(frozen=True, slots=True)
class InboundDocument:
    """An order line, or a shipment without order line, with units on order or in transit."""

    table_name: str
    row_id: int
    document: str
    detail: str
    due_on: date | None
    actor: str | None
    on_order_units: int
    in_transit_units: int


def inbound(inv_key: str) -> list[InboundDocument]:
    """Return a key's order lines and shipments that have units on order or in transit.

    The sums of their units are the key's figures on-order and in-transit.
    """
    sql = "SELECT * FROM retail.inbound_documents(%(key)s)"
    return select(sql, {"key": inv_key}, InboundDocument)


@dataclass(frozen=True, slots=True)
class LookupHints:
    """Help for an unknown key. Each list has up to five entries, ordered by code.

    `sku_locations` are locations with a policy for the SKU. `similar_skus` have a policy at the
    location, and differ from the SKU only in upper and lower case. `locations` are known locations.
    """

    location_known: bool
    sku_locations: list[str]
    similar_skus: list[str]
    locations: list[str]


def lookup_hints(location: str, sku: str) -> LookupHints:
    """Return help for an unknown key. Leave out locations that the person doesn't work for."""
    sql = "SELECT * FROM retail.whereabouts(%(location)s, %(sku)s)"
    asked = {"location": location, "sku": sku}
    found = select_one(sql, asked, LookupHints) or LookupHints(False, [], [], [])  # noqa: FBT003 -- an empty answer
    mine = current()
    return replace(
        found,
        sku_locations=[place for place in found.sku_locations if mine.allows(place)],
        locations=[place for place in found.locations if mine.allows(place)],
    )


@dataclass(frozen=True, slots=True)
class Window:
    """Sales and returns of one key in one ten-minute window."""

    start_us: int
    sold_units: int
    returned_units: int
    sale_lines: int
    return_lines: int
    revenue_minor: int
    late_lines: int
    window_revision: int


def windows(inv_key: str, *, limit: int = WINDOWS_SHOWN) -> list[Window]:
    """Return the newest `limit` windows with a sale or return line, the oldest first."""
    sql = """
        SELECT start_us, sold_units, returned_units, sale_lines, return_lines, revenue_minor,
               late_lines, window_revision
        FROM read_model.sales_window WHERE inv_key = %(key)s
        ORDER BY start_us DESC LIMIT %(limit)s
        """
    return select(sql, {"key": inv_key, "limit": limit}, Window)[::-1]


@dataclass(frozen=True, slots=True)
class _Sold:
    """Units sold in one window."""

    start_us: int
    sold_units: int


def sold_units(inv_key: str, *, from_us: int) -> dict[int, int]:
    """Return {start of a window in microseconds: units sold}, from `from_us` on."""
    sql = """
        SELECT start_us, sold_units FROM read_model.sales_window
        WHERE inv_key = %(key)s AND start_us >= %(from)s AND sold_units > 0
        """
    return {
        row.start_us: row.sold_units
        for row in select(sql, {"key": inv_key, "from": from_us}, _Sold)
    }


def first_window_us(inv_key: str) -> int | None:
    """Return the start of the key's oldest window in the read model, or None."""
    sql = "SELECT min(start_us) FROM read_model.sales_window WHERE inv_key = %(key)s"
    found: int | None = select_value(sql, {"key": inv_key})
    return found


@dataclass(frozen=True, slots=True)
class PriceOfTime:
    """A price of a key. If `is_undone`, a later row with the same `effective_from` replaces it."""

    id: int
    effective_from: datetime
    price_minor: int
    step: int
    kind: str
    floor_minor: int
    recorded_at: datetime
    recorded_by: str | None
    is_in_force: bool
    is_undone: bool


def prices(inv_key: str) -> list[PriceOfTime]:
    """Return the newest 20 prices of a key, scheduled ones first."""
    sql = """
        SELECT id, effective_from, price_minor, step, kind, floor_minor, recorded_at, recorded_by,
               id IS NOT DISTINCT FROM (
                   SELECT force.id FROM retail.price_at(%(key)s, statement_timestamp()) AS force
               ) AS is_in_force,
               lead(effective_from) OVER (ORDER BY effective_from, id)
                   IS NOT DISTINCT FROM effective_from AS is_undone
        FROM retail.price_change WHERE inv_key = %(key)s
        ORDER BY effective_from DESC, id DESC LIMIT 20
        """
    return select(sql, {"key": inv_key}, PriceOfTime)


@dataclass(frozen=True, slots=True)
class Policy:
    """The columns of a policy that the page of an item shows."""

    status: str
    clock_mode: str
    replenish_family: str
    levels: str
    reorder_point_units: int
    order_up_to_units: int
    order_quantity_units: int
    lead_time_centidays: int
    lead_time_sd_centidays: int
    safety_method: str
    supplier: str | None
    cost_minor: int
    pack_units: int
    pack_rounding: str
    moq_units: int
    max_order_units: int | None
    auto_max_minor: int
    price_mode: str
    auto_permille: int
    regular_minor: int | None
    margin_permille: int
    tax_bp: int
    recorded_at: datetime
    recorded_by: str | None


def policy(inv_key: str) -> Policy | None:
    """Return the policy in the ledger, or None for an unranged item."""
    sql = """
        SELECT status, clock_mode, replenish_family, levels, reorder_point_units,
               order_up_to_units, order_quantity_units, lead_time_centidays,
               lead_time_sd_centidays, safety_method, supplier, cost_minor, pack_units,
               pack_rounding, moq_units, max_order_units, auto_max_minor, price_mode, auto_permille,
               regular_minor, margin_permille, tax_bp, recorded_at, recorded_by
        FROM retail.item_location WHERE inv_key = %(key)s
        """
    return select_one(sql, {"key": inv_key}, Policy)
