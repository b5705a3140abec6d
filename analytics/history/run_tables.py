"""Tables of one run: its states, windows, decisions, late and rejected records, typed.

The rows are read from the documents that the run wrote, so a run by the rules of another logic
revision has tables too. A formula is that of `inventory`, or of the projector's read model.
"""

from collections.abc import Mapping
from typing import Any, Final

import orjson

from analytics.history.columns import KEY, OF_RUN, POSITION, TEXTS, Column, HistoryTable
from analytics.history.log_tables import CALENDAR
from cdc.contracts.decisions import PriceEvent, ReorderEvent
from cdc.contracts.rejects import Late, Rejection
from cdc.contracts.versions import built, document_of
from inventory.model.arithmetic import DAY_US, HOUR_US, WINDOW_US, day_of, weekday_of
from inventory.model.price_timeline import PriceRow, in_force
from inventory.tables.captured import BIGINT, BOOLEAN, INTEGER, TEXT, TIME

Row = tuple[Any, ...]
Document = dict[str, Any]

_STOCK: Final = (
    Column("on_hand_units", BIGINT, "may be negative"),
    Column("unavailable_units", BIGINT),
    Column("on_order_units", BIGINT),
    Column("in_transit_units", BIGINT),
    Column("sum_movements_units", BIGINT, "all movements since the first record"),
    Column("shrink_units", BIGINT, "Σ of count variances with the opposite sign"),
)
_LEVELS: Final = (
    Column("base_position_units", BIGINT, "B: inventory position without the open need"),
    Column("safety_stock_units", BIGINT),
    Column("reorder_point_units", BIGINT, "s; null while no level is known"),
    Column("order_up_to_units", BIGINT, "S"),
)
_POLICY: Final = (
    Column("status", TEXT),
    Column("clock_mode", TEXT),
    Column("demand_method", TEXT),
    Column("replenish_family", TEXT),
    Column("levels", TEXT, "fixed or computed"),
    Column("lead_time_centidays", BIGINT),
    Column("lead_time_sd_centidays", BIGINT),
    Column("review_centidays", BIGINT),
    Column("safety_method", TEXT),
    Column("service_z_micro", BIGINT),
    Column("supplier", TEXT),
    Column("cost_minor", BIGINT, "of one unit"),
    Column("pack_units", BIGINT),
    Column("moq_units", BIGINT, "least quantity of an order"),
    Column("max_order_units", BIGINT),
    Column("capacity_units", BIGINT),
    Column("auto_max_minor", BIGINT, "largest order that needs no person"),
    Column("price_mode", TEXT),
    Column("regular_minor", BIGINT),
    Column("margin_permille", BIGINT),
)
STATES: Final = HistoryTable(
    name="states",
    source=OF_RUN,
    grain="key, at the end of the run; policy columns are null for a key without a policy",
    columns=(
        *KEY,
        Column("stream_time", TIME, "the key's own clock"),
        *_STOCK,
        Column("stock_known", BOOLEAN, "true if the facts in force include a count"),
        Column("allocated_units", BIGINT),
        Column("available_to_sell_units", BIGINT),
        Column("inventory_position_units", BIGINT),
        *_LEVELS,
        Column("demand_rate_micro", BIGINT, "units a day"),
        Column("demand_mad_micro", BIGINT, "mean absolute error of the rate, units a day"),
        Column("observed_days", BIGINT),
        Column("quiet_windows", BIGINT, "trading windows since the last sale"),
        Column("price_minor", BIGINT, "in force at the stream time"),
        Column("price_step", INTEGER, "0 regular, 1… markdown, -1… raise; null without a price"),
        Column("need_state", TEXT, "idle, open, held-snoozed, held-rejected or held-short"),
        Column("need_id", TEXT),
        Column("need_reason", TEXT),
        Column("requested_units", BIGINT, "of the open need"),
        Column("price_proposal_id", TEXT),
        Column("proposed_minor", BIGINT, "price of the open proposal"),
        *_POLICY,
        Column("generation", INTEGER),
        *POSITION,
        Column("logic_revision", INTEGER),
    ),
    order=("inv_key",),
)
_WINDOW: Final = (
    Column("sold_units", BIGINT, "returns don't reduce it"),
    Column("returned_units", BIGINT),
    Column("sale_lines", BIGINT),
    Column("return_lines", BIGINT),
    Column("revenue_minor", BIGINT, "returns reduce it"),
    Column("late_lines", BIGINT, "lines that came after the window was closed"),
    Column("window_revision", BIGINT, "changes since it was closed"),
)
WINDOWS: Final = HistoryTable(
    name="windows",
    source=OF_RUN,
    grain="key and ten minutes with a sale or return line, from the first record on",
    columns=(
        *KEY,
        Column("start_at", TIME, "UTC; the window is [start, end)"),
        Column("end_at", TIME),
        *CALENDAR,
        *_WINDOW,
        Column("partition", INTEGER),
    ),
    order=("inv_key", "start_at"),
)
_DECISION: Final = (
    *KEY,
    Column("id", TEXT, "generation and offset of the record that opened it"),
    Column("revision", INTEGER, "1 at the opening; the highest is in force"),
    Column("status", TEXT),
    Column("reason", TEXT),
)
_DECIDED: Final = (
    Column("decided_at", TIME, "commit time of the record that decided"),
    Column("generation", INTEGER),
    *POSITION,
    Column("logic_revision", INTEGER),
)
DECISIONS: Final = HistoryTable(
    name="decisions",
    source=OF_RUN,
    grain="revision of a reorder need",
    columns=(
        *_DECISION,
        Column("quantity_units", BIGINT, "null unless open"),
        Column("supplier", TEXT),
        Column("cost_minor", BIGINT, "of one unit, then"),
        Column("base_position_units", BIGINT),
        Column("reorder_point_units", BIGINT, "s"),
        Column("order_up_to_units", BIGINT, "S"),
        Column("flags", TEXTS, "each forbids an automatic approval"),
        *_DECIDED,
    ),
    order=("inv_key", "offset"),
)
PRICES: Final = HistoryTable(
    name="prices",
    source=OF_RUN,
    grain="revision of a price proposal; `price_changes` has the prices that came into force",
    columns=(
        *_DECISION,
        Column("signal", TEXT),
        Column("step", INTEGER, "0 regular, 1… markdown, -1… raise"),
        Column("old_minor", BIGINT),
        Column("new_minor", BIGINT),
        Column("prior_minor", BIGINT, "lowest price of the 30 days before a reduction"),
        Column("floor_minor", BIGINT),
        Column("regular_minor", BIGINT),
        Column("effective_at", TIME),
        Column("clamps", TEXTS, "in the order in which they applied"),
        *_DECIDED,
    ),
    order=("inv_key", "offset"),
)
LATE: Final = HistoryTable(
    name="late",
    source=OF_RUN,
    grain="record whose sale or return no window counts",
    columns=(
        *KEY,
        Column("units", BIGINT, "signed: returns are negative"),
        Column("amount_minor", BIGINT, "signed"),
        Column("reason", TEXT),
        Column("committed_at", TIME),
        *POSITION,
    ),
    order=("inv_key", "offset"),
)
REJECTED: Final = HistoryTable(
    name="rejected",
    source=OF_RUN,
    grain="record without effect",
    columns=(
        Column("key", TEXT, "of the record; bytes that are not UTF-8 become �"),
        Column("reason", TEXT),
        Column("stage", TEXT, "decode or fold"),
        Column("detail", TEXT),
        Column("committed_at", TIME, "null if the bytes name no commit time"),
        *POSITION,
        Column("logic_revision", INTEGER),
    ),
    order=("offset",),
)
RUN_TABLES: Final = (STATES, WINDOWS, DECISIONS, PRICES, LATE, REJECTED)


def state_document(content: bytes) -> Document:
    """Return the document of a state, of any logic revision."""
    return document_of("state", content, orjson.loads)


def state_row(document: Document, partition: int) -> Row:
    """Return a state as a row of `states`."""
    return built("state", document, lambda found: _row(STATES, _state(found, partition)))


def state_windows(document: Document, partition: int) -> list[Row]:
    """Return the retained windows with a line as rows of `windows`."""
    key = document["inv_key"]
    return [_window(key, row, partition) for row in document["rows"] if row["had_line"]]


def expired_window(content: bytes, partition: int) -> list[Row]:
    """Return a window that left its key's state as rows of `windows`: one, or none without a line.

    Its content is the last one: later lines are late and in no window.
    """
    document = document_of("window", content, orjson.loads)
    row = document["row"]
    return [_window(document["inv_key"], row, partition)] if row["had_line"] else []


def reorder_row(event: ReorderEvent) -> Row:
    """Return one revision of a need as a row of `decisions`."""
    output = event.output
    return _row(
        DECISIONS,
        _decision(event)
        | {
            "quantity_units": output.quantity_units,
            "supplier": event.supplier,
            "cost_minor": event.cost_minor,
            "base_position_units": output.base_position_units,
            "reorder_point_units": output.reorder_point_units,
            "order_up_to_units": output.order_up_to_units,
            "flags": list(output.flags),
        },
    )


def price_row(event: PriceEvent) -> Row:
    """Return one revision of a price proposal as a row of `prices`."""
    output = event.output
    return _row(
        PRICES,
        _decision(event)
        | {
            "signal": output.signal,
            "step": output.step,
            "old_minor": output.old_minor,
            "new_minor": output.new_minor,
            "prior_minor": output.prior_minor,
            "floor_minor": output.floor_minor,
            "regular_minor": output.regular_minor,
            "effective_at": output.effective_at_us,
            "clamps": list(output.clamps),
        },
    )


def late_row(late: Late) -> Row:
    """Return a late record as a row of `late`."""
    origin = late.origin
    values = (late.units, late.amount_minor, late.reason, late.commit_us)
    return (*key_parts(late.inv_key), *values, origin.partition, origin.offset)


def rejected_row(rejection: Rejection) -> Row:
    """Return a rejected record as a row of `rejected`."""
    origin = rejection.origin
    return (
        plain_text(rejection.key),
        rejection.reason,
        rejection.stage,
        rejection.detail.encode("utf-8", "replace").decode(),
        rejection.commit_us,
        origin.partition,
        origin.offset,
        rejection.logic_revision,
    )


def key_parts(inv_key: str) -> tuple[str, str, str]:
    """Return key, store and SKU."""
    store, _, sku = inv_key.partition("|")
    return inv_key, store, sku


def calendar(at_us: int) -> tuple[int, int, int]:
    """Return day (days since 1970), weekday from 1 and hour of a time, UTC."""
    return day_of(at_us), weekday_of(at_us) + 1, at_us % DAY_US // HOUR_US


def plain_text(content: bytes | None) -> str | None:
    """Return bytes of a record as text that Parquet can store."""
    return None if content is None else content.decode("utf-8", "replace")


def _row(table: HistoryTable, values: Mapping[str, Any]) -> Row:
    return tuple(values[name] for name in table.names)


def _state(document: Document, partition: int) -> Document:
    stock, demand = document["stock"], document["demand"]
    need, proposal = document["episode"], document["price_episode"]
    policy = document["policy"] or {}
    allocated = policy.get("allocated_units", 0)
    requested = need["quantity_units"] or 0
    return {
        **dict(zip(("inv_key", "store", "sku"), key_parts(document["inv_key"]), strict=True)),
        "stream_time": document["stream_time_us"],
        **{column.name: stock[column.name] for column in _STOCK},
        "stock_known": document["stock_known"],
        "allocated_units": allocated,
        "available_to_sell_units": stock["on_hand_units"] - allocated,
        "inventory_position_units": document["base_position_units"] + requested,
        **{column.name: document[column.name] for column in _LEVELS},
        "demand_rate_micro": demand["rate_micro"],
        "demand_mad_micro": demand["mad_micro"],
        "observed_days": demand["observed_days"],
        "quiet_windows": demand["quiet_windows"],
        **_price_in_force(document),
        "need_state": need["state"],
        "need_id": need["id"],
        "need_reason": need["reason"],
        "requested_units": requested,
        "price_proposal_id": proposal["id"],
        "proposed_minor": proposal["proposal_price_minor"],
        **{column.name: policy.get(column.name) for column in _POLICY},
        "generation": document["position"]["generation"],
        "partition": partition,
        "offset": document["position"]["offset"],
        "logic_revision": document["logic_revision"],
    }


def _price_in_force(document: Document) -> Document:
    at_us = document["stream_time_us"]
    timeline = tuple(PriceRow(**row) for row in document["timeline"])
    found = None if at_us is None else in_force(timeline, at_us)
    if found is None:
        return {"price_minor": None, "price_step": None}
    return {"price_minor": found.price_minor, "price_step": found.step}


def _window(inv_key: str, row: Document, partition: int) -> Row:
    start_us = row["start_us"]
    times = (start_us, start_us + WINDOW_US, *calendar(start_us))
    counters = (row[column.name] for column in _WINDOW)
    return (*key_parts(inv_key), *times, *counters, partition)


def _decision(event: ReorderEvent | PriceEvent) -> Document:
    output, at = event.output, event.at
    return {
        "inv_key": at.inv_key,
        "store": at.location,
        "sku": at.sku,
        "id": output.id,
        "revision": output.revision,
        "status": output.status,
        "reason": output.reason,
        "decided_at": at.as_of_us,
        "generation": at.origin.generation,
        "partition": at.origin.partition,
        "offset": at.origin.offset,
        "logic_revision": at.logic_revision,
    }
