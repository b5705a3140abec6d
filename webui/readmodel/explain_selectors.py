"""Why a number is what it is: the facts of one key from the ledger, in business order.

The running sum is computed here by SQL over `retail.*`, with no code in common with the workers.
It is a second, independent way to the number on the screen, so a difference is worth a look.
"""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final

from cdc.contracts.topics import ON_HAND_CHANGELOG
from webui.readmodel.rows import select, select_one

FACTS_SHOWN: Final = 100
WINDOWS_SHOWN: Final = 24


@dataclass(frozen=True, slots=True)
class Fact:
    """One movement or count of a key; `delta_units` of a count is its variance."""

    kind: str
    id: int
    business_at: datetime
    recorded_at: datetime
    recorded_by: str | None
    document: str
    counted_units: int | None
    delta_units: int
    running_units: int
    is_before_count: bool
    is_late: bool


# A movement in the second of a count comes before it (docs/domain.md 2.4); counts of one second
# stand in the order of their ids.
_MOVEMENTS: Final = """
SELECT CASE WHEN quantity_units > 0 THEN 'sale' ELSE 'return, ' || condition END AS kind, id,
       least(occurred_at, recorded_at) AS raw_at, recorded_at, recorded_by,
       source || ' ' || source_ref AS document, NULL::bigint AS counted_units,
       CASE WHEN quantity_units > 0 OR condition = 'resaleable' THEN -quantity_units ELSE 0 END
           AS moved_units,
       true AS has_window
FROM retail.sale_line WHERE inv_key = %(key)s
UNION ALL
SELECT CASE leg WHEN 'supplier_in' THEN 'receipt' ELSE 'transfer in' END, id,
       least(received_at, recorded_at), recorded_at, recorded_by,
       coalesce('order line ' || purchase_order_line_id, transfer_ref, 'shipment ' || id), NULL,
       received_units, false
FROM retail.shipment_line
WHERE inv_key = %(key)s AND leg <> 'transfer_out' AND status = 'received'
UNION ALL
SELECT 'transfer out', id, least(shipped_at, recorded_at), recorded_at, recorded_by,
       coalesce(transfer_ref, 'shipment ' || id), NULL, -shipped_units, false
FROM retail.shipment_line
WHERE inv_key = %(key)s AND leg = 'transfer_out' AND status = 'shipped'
UNION ALL
SELECT replace(reason, '_', ' '), id, least(occurred_at, recorded_at), recorded_at, recorded_by,
       'adjustment ' || id, NULL,
       CASE WHEN reason IN ('found', 'correction_up', 'repair') THEN quantity_units
            WHEN reason IN ('dispose', 'vendor_return_damaged') THEN 0
            ELSE -quantity_units END, false
FROM retail.stock_adjustment WHERE inv_key = %(key)s
UNION ALL
SELECT kind || ' count', id, least(occurred_at, recorded_at), recorded_at, recorded_by,
       'count ' || id, units, NULL, false
FROM retail.stock_count WHERE inv_key = %(key)s AND status = 'approved'
"""

# A window of ten minutes is closed ten minutes after its end. A sale written later is late if its
# window says so, or if no window has it at all; history that was replayed is late nowhere.
_RUNNING: Final = f"""
WITH raw AS ({_MOVEMENTS}), fact AS (
    SELECT *, date_trunc('second', raw_at) AS business_at FROM raw
), ordered AS (
    SELECT *, row_number() OVER placed AS place,
           count(counted_units) OVER placed AS stretch
    FROM fact
    WINDOW placed AS (ORDER BY business_at, counted_units IS NOT NULL, id, kind
                      ROWS UNBOUNDED PRECEDING)
), running AS (
    SELECT *, (sum(coalesce(counted_units, moved_units)) OVER
               (PARTITION BY stretch ORDER BY place))::bigint AS running_units
    FROM ordered
), explained AS (
    SELECT *, running_units - coalesce(lag(running_units) OVER (ORDER BY place), 0) AS delta_units,
           stretch < max(stretch) OVER () AS is_before_count
    FROM running
)
SELECT kind, id, business_at, recorded_at, recorded_by, document, counted_units,
       delta_units, running_units, is_before_count,
       has_window AND recorded_at >= to_timestamp(w.from_s) + interval '20 minutes'
           AND NOT EXISTS (
               SELECT FROM read_model.sales_window t
               WHERE t.inv_key = %(key)s AND t.start_us = w.from_s * 1000000 AND t.late_lines = 0
           ) AS is_late
FROM explained
CROSS JOIN LATERAL (SELECT extract(epoch FROM business_at)::bigint / 600 * 600 AS from_s) w
ORDER BY place DESC LIMIT %(limit)s
"""  # noqa: S608 -- both parts are constants of this module


def facts(inv_key: str, *, limit: int = FACTS_SHOWN) -> list[Fact]:
    """The last `limit` facts of a key in business order, each with on-hand after it."""
    return select(_RUNNING, {"key": inv_key, "limit": limit}, Fact)[::-1]


@dataclass(frozen=True, slots=True)
class Item:
    """The read model's level of one key, with names."""

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
    price_minor: int | None
    episode_state: str
    reorder_id: str | None
    policy_active: bool
    stream_time_us: int | None
    generation: int
    partition: int
    offset: int
    logic_revision: int
    as_of_us: int
    state: Any


def item(inv_key: str) -> Item | None:
    """The level of a key, None while nothing has reached the read model."""
    return select_one(
        """
        SELECT s.inv_key, s.location, s.sku, coalesce(p.name, s.sku) AS name,
               coalesce(l.name, s.location) AS location_name,
               s.on_hand_units, s.unavailable_units, s.on_order_units, s.in_transit_units,
               s.allocated_units, s.available_to_sell_units, s.stock_known, s.base_position_units,
               s.requested_units, s.reorder_point_units, s.order_up_to_units, s.demand_rate_micro,
               s.price_minor, s.episode_state, s.reorder_id, s.policy_active, s.stream_time_us,
               s.generation, s.partition, s."offset", s.logic_revision,
               greatest(at.as_of_us, s.as_of_us) AS as_of_us, s.state
        FROM read_model.stock s
        LEFT JOIN retail.product p ON p.code = s.sku
        LEFT JOIN retail.location l ON l.code = s.location
        LEFT JOIN read_model.sink_position at
            ON at.sink = 'projector' AND at.topic = %(topic)s AND at.partition = s.partition
        WHERE s.inv_key = %(key)s
        """,
        {"key": inv_key, "topic": ON_HAND_CHANGELOG},
        Item,
    )


@dataclass(frozen=True, slots=True)
class InboundDocument:
    """A document that still has units on order or in transit."""

    document: str
    detail: str
    due_on: date | None
    on_order_units: int
    in_transit_units: int


_INBOUND: Final = """
SELECT o.order_ref || ' · line ' || o.id AS document,
       o.supplier || ', ' || o.status AS detail, o.due_on,
       coalesce(o.confirmed_units, o.ordered_units) - o.cancelled_units
           - coalesce(sh.order_units, 0) AS on_order_units,
       coalesce(sh.in_transit_units, 0) AS in_transit_units
FROM retail.purchase_order_line o
LEFT JOIN LATERAL (
    SELECT (sum(order_units) FILTER (WHERE status = 'received'))::bigint AS order_units,
           (sum(shipped_units) FILTER (WHERE status = 'shipped'))::bigint AS in_transit_units
    FROM retail.shipment_line
    WHERE inv_key = o.inv_key AND leg = 'supplier_in' AND purchase_order_line_id = o.id
) sh ON true
WHERE o.inv_key = %(key)s
UNION ALL
SELECT coalesce(transfer_ref, 'transfer') || ' · line ' || id, 'transfer in, ' || status, NULL,
       CASE status WHEN 'planned' THEN planned_units ELSE shipped_units END,
       CASE status WHEN 'shipped' THEN shipped_units ELSE 0 END
FROM retail.shipment_line
WHERE inv_key = %(key)s AND leg = 'transfer_in' AND status IN ('planned', 'shipped')
UNION ALL
SELECT 'shipment ' || id, 'supplier, without an order line', NULL,
       CASE status WHEN 'received' THEN -order_units ELSE 0 END,
       CASE status WHEN 'shipped' THEN shipped_units ELSE 0 END
FROM retail.shipment_line
WHERE inv_key = %(key)s AND leg = 'supplier_in' AND purchase_order_line_id IS NULL
"""


def inbound(inv_key: str) -> list[InboundDocument]:
    """Documents of a key whose units are on order or in transit; they add up to both figures."""
    sql = f"""SELECT * FROM ({_INBOUND}) d
              WHERE on_order_units <> 0 OR in_transit_units <> 0 ORDER BY document LIMIT 50"""  # noqa: S608 -- a constant of this module
    return select(sql, {"key": inv_key}, InboundDocument)


@dataclass(frozen=True, slots=True)
class Window:
    """One ten-minute window."""

    start_us: int
    sold_units: int
    returned_units: int
    sale_lines: int
    return_lines: int
    revenue_minor: int
    late_lines: int
    window_revision: int


def windows(inv_key: str, *, limit: int = WINDOWS_SHOWN) -> list[Window]:
    """The newest windows with any line, oldest first."""
    sql = """
        SELECT start_us, sold_units, returned_units, sale_lines, return_lines, revenue_minor,
               late_lines, window_revision
        FROM read_model.sales_window WHERE inv_key = %(key)s
        ORDER BY start_us DESC LIMIT %(limit)s
        """
    return select(sql, {"key": inv_key, "limit": limit}, Window)[::-1]


@dataclass(frozen=True, slots=True)
class PriceOfTime:
    """One row of the price timeline."""

    id: int
    effective_from: datetime
    price_minor: int
    step: int
    kind: str
    floor_minor: int
    recorded_at: datetime
    recorded_by: str | None
    is_in_force: bool


def prices(inv_key: str) -> list[PriceOfTime]:
    """The newest prices of a key, scheduled ones first."""
    sql = """
        SELECT id, effective_from, price_minor, step, kind, floor_minor, recorded_at, recorded_by,
               effective_from <= now() AND NOT EXISTS (
                   SELECT FROM retail.price_change later
                   WHERE later.inv_key = c.inv_key AND later.effective_from <= now()
                     AND (later.effective_from, later.id) > (c.effective_from, c.id)
               ) AS is_in_force
        FROM retail.price_change c WHERE inv_key = %(key)s
        ORDER BY effective_from DESC, id DESC LIMIT 20
        """
    return select(sql, {"key": inv_key}, PriceOfTime)


@dataclass(frozen=True, slots=True)
class Policy:
    """The columns of a policy that the rule on the page names."""

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
    price_mode: str
    regular_minor: int | None
    margin_permille: int
    tax_bp: int
    recorded_at: datetime


def policy(inv_key: str) -> Policy | None:
    """The policy in the ledger, None for an item that nobody ranged."""
    sql = """
        SELECT status, clock_mode, replenish_family, levels, reorder_point_units,
               order_up_to_units, order_quantity_units, lead_time_centidays,
               lead_time_sd_centidays, safety_method, supplier, cost_minor, pack_units,
               pack_rounding, moq_units, max_order_units, price_mode, regular_minor,
               margin_permille, tax_bp, recorded_at
        FROM retail.item_location WHERE inv_key = %(key)s
        """
    return select_one(sql, {"key": inv_key}, Policy)
