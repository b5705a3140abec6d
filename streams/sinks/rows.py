"""The rows of the read model, made from the workers' records.

Each number is copied from the record, or computed by a function of the rules.
"""

from cdc.contracts import tables
from cdc.contracts.rejects import Late, Rejection
from cdc.contracts.state import read_level
from cdc.contracts.state_documents import Document
from inventory.model.ids import InvKey, Position
from inventory.model.price_timeline import PriceRow, in_force, step_at
from inventory.model.state import WindowRow, available_to_sell_units
from inventory.revision import LOGIC_REVISION
from streams.sinks.upsert import Row, Table, plain_text

_NEWER_POSITION = (
    '(excluded.logic_revision, excluded.generation, excluded."offset")'
    ' > (kept.logic_revision, kept.generation, kept."offset")'
)

STOCK = Table(
    name=tables.STOCK,
    key=("inv_key",),
    columns=tables.STOCK_COLUMNS,
    newer=_NEWER_POSITION,
)
SALES_WINDOW = Table(
    name=tables.SALES_WINDOW,
    key=("inv_key", "start_us"),
    columns=tables.SALES_WINDOW_COLUMNS,
    newer='excluded."offset" > kept."offset"',
)
LATE_SALE = Table(
    name=tables.LATE_SALE,
    key=("id",),
    columns=tables.LATE_SALE_COLUMNS,
    newer=None,
)
REJECTED = Table(
    name=tables.REJECTED,
    key=("id",),
    columns=tables.REJECTED_COLUMNS,
    newer=None,
)
HEARTBEAT = Table(
    name=tables.HEARTBEAT,
    key=("partition",),
    columns=tables.HEARTBEAT_COLUMNS,
    newer="excluded.beat > kept.beat",
)


def stock_row(content: bytes, partition: int, as_of_us: int | None) -> Row:
    """Return the row of `read_model.stock` for a key's level, its state record in the changelog.

    `content` is the value of that record, and `as_of_us` the partition's as-of time. If `as_of_us`
    is None, the row gets the key's stream time instead.

    Raises:
        UnknownVersion: another version of this code wrote `content`.
        UnreadableRecord: `content` is not a level.
    """

    def row(level: Document) -> Row:
        place = {"partition": partition, "as_of_us": as_of_us}
        if as_of_us is None:
            place["as_of_us"] = level["stream_time_us"] or 0
        return {**_figures(level), **place, "state": content.decode()}

    return read_level(content, row)


def _figures(level: Document) -> dict[str, object]:
    """Return the columns that are copied from the level (a key's state) or computed from it."""
    stock, policy, episode = level["stock"], level["policy"], level["episode"]
    location, _, sku = level["inv_key"].partition("|")
    allocated_units = 0 if policy is None else policy["allocated_units"]
    stream_us, timeline = level["stream_time_us"], level["timeline"]
    prices = () if stream_us is None else tuple(PriceRow(**row) for row in timeline)
    priced = None if stream_us is None else in_force(prices, stream_us)
    return {
        "inv_key": level["inv_key"],
        "location": location,
        "sku": sku,
        "on_hand_units": stock["on_hand_units"],
        "unavailable_units": stock["unavailable_units"],
        "on_order_units": stock["on_order_units"],
        "in_transit_units": stock["in_transit_units"],
        "allocated_units": allocated_units,
        "available_to_sell_units": available_to_sell_units(stock["on_hand_units"], allocated_units),
        "stock_known": level["stock_known"],
        "base_position_units": level["base_position_units"],
        "requested_units": episode["quantity_units"] or 0,
        "reorder_point_units": level["reorder_point_units"],
        "order_up_to_units": level["order_up_to_units"],
        "demand_rate_micro": level["demand"]["rate_micro"],
        "price_minor": None if priced is None else priced.price_minor,
        "price_step": 0 if stream_us is None else step_at(prices, stream_us),
        "episode_state": episode["state"],
        "reorder_id": episode["id"],
        "price_proposal_id": level["price_episode"]["id"],
        "policy_active": policy is not None and policy["status"] == "active",
        "stream_time_us": stream_us,
        "generation": level["position"]["generation"],
        "offset": level["position"]["offset"],
        "logic_revision": LOGIC_REVISION,
    }


def window_row(key: InvKey, row: WindowRow, position: Position, partition: int) -> Row:
    """Return the row of `read_model.sales_window` for one window row, without its `moves`."""
    return {
        "inv_key": key,
        "start_us": row.start_us,
        "sold_units": row.sold_units,
        "returned_units": row.returned_units,
        "sale_lines": row.sale_lines,
        "return_lines": row.return_lines,
        "revenue_minor": row.revenue_minor,
        "late_lines": row.late_lines,
        "window_revision": row.window_revision,
        "partition": partition,
        "offset": position.offset,
    }


def late_row(late: Late) -> Row:
    """Return the row of `read_model.late_sale` for a late sale."""
    return {
        "id": late.origin.id,
        "inv_key": late.inv_key,
        "units": late.units,
        "amount_minor": late.amount_minor,
        "reason": late.reason,
        "generation": late.origin.generation,
        "partition": late.origin.partition,
        "offset": late.origin.offset,
        "commit_us": late.commit_us,
    }


def rejected_row(rejection: Rejection) -> Row:
    """Return the row of `read_model.rejected` for a rejected record, with its original bytes."""
    return {
        "id": rejection.origin.id,
        "generation": rejection.origin.generation,
        "partition": rejection.origin.partition,
        "offset": rejection.origin.offset,
        "key": rejection.key,
        "value": rejection.value,
        "reason": rejection.reason,
        "stage": rejection.stage,
        "detail": plain_text(rejection.detail),
        "logic_revision": rejection.logic_revision,
        "commit_us": rejection.commit_us,
    }
