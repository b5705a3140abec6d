"""Rows of the tables of one run, read from the JSON documents that the run wrote.

Documents of every logic revision can be read, so runs of other revisions have tables, too. Derived
columns use the formulas of `inventory` or of the projector's read model.
"""

from typing import Any

import orjson

from analytics.history.columns import HistoryTable
from analytics.history.run_tables import (
    DECISIONS,
    LEVEL_COLUMNS,
    POLICY_COLUMNS,
    PRICES,
    STATES,
    STOCK_COLUMNS,
    WINDOW_COLUMNS,
)
from cdc.contracts.decisions import PriceEvent, ReorderEvent
from cdc.contracts.rejects import Late, Rejection
from cdc.contracts.versions import built, document_of
from inventory.model.arithmetic import DAY_US, HOUR_US, WINDOW_US, day_of, weekday_of
from inventory.model.price_timeline import PriceRow, in_force

Row = tuple[Any, ...]
Document = dict[str, Any]


def state_document(content: bytes) -> Document:
    """Return the document of a state, of any logic revision."""
    return document_of("state", content, orjson.loads)


def state_row(document: Document, partition: int) -> Row:
    """Return a state as a row of `states`."""
    return built("state", document, lambda found: _state_row(found, partition))


def state_windows(document: Document, partition: int) -> list[Row]:
    """Return rows of `windows`: one for each window of the state with a sale or return line."""
    key = document["inv_key"]
    return [_window(key, row, partition) for row in document["rows"] if row["had_line"]]


def expired_window(content: bytes, partition: int) -> list[Row]:
    """Return an expired window as a row of `windows`; none if it has no sale or return line.

    `content` is the window's last record. Lines that arrived after it are in no window.
    """
    document = document_of("window", content, orjson.loads)
    row = document["row"]
    return [_window(document["inv_key"], row, partition)] if row["had_line"] else []


def reorder_row(event: ReorderEvent) -> Row:
    """Return one revision of a need as a row of `decisions`."""
    return _decision(DECISIONS, event, {"supplier": event.supplier, "cost_minor": event.cost_minor})


def price_row(event: PriceEvent) -> Row:
    """Return one revision of a price proposal as a row of `prices`."""
    return _decision(PRICES, event, {"effective_at": event.output.effective_at_us})


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
    """Return day (days since 1970), weekday (1 is Monday) and hour (0 to 23) of a time, UTC."""
    return day_of(at_us), weekday_of(at_us) + 1, at_us % DAY_US // HOUR_US


def plain_text(content: bytes | None) -> str | None:
    """Return bytes of a record as text that Parquet can store."""
    return None if content is None else content.decode("utf-8", "replace")


def _state_row(document: Document, partition: int) -> Row:
    values = _state(document, partition)
    return tuple(values[name] for name in STATES.names)


def _state(document: Document, partition: int) -> Document:
    stock, demand = document["stock"], document["demand"]
    need, proposal = document["episode"], document["price_episode"]
    policy = document["policy"] or {}
    allocated = policy.get("allocated_units", 0)
    requested = need["quantity_units"] or 0
    return {
        **dict(zip(("inv_key", "store", "sku"), key_parts(document["inv_key"]), strict=True)),
        "stream_time": document["stream_time_us"],
        **{column.name: stock[column.name] for column in STOCK_COLUMNS},
        "stock_known": document["stock_known"],
        "allocated_units": allocated,
        "available_to_sell_units": stock["on_hand_units"] - allocated,
        "inventory_position_units": document["base_position_units"] + requested,
        **{column.name: document[column.name] for column in LEVEL_COLUMNS},
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
        **{column.name: policy.get(column.name) for column in POLICY_COLUMNS},
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
    counters = (row[column.name] for column in WINDOW_COLUMNS)
    return (*key_parts(inv_key), *times, *counters, partition)


def _decision(table: HistoryTable, event: ReorderEvent | PriceEvent, own: Document) -> Row:
    """Return a decision as a row of `table`.

    A column's value comes from `own` or from the event's key and position. If neither has the
    column, the value comes from the event's output.
    """
    output, at = event.output, event.at
    known = own | {
        "inv_key": at.inv_key,
        "store": at.location,
        "sku": at.sku,
        "decided_at": at.as_of_us,
        "generation": at.origin.generation,
        "partition": at.origin.partition,
        "offset": at.origin.offset,
        "logic_revision": at.logic_revision,
    }
    return tuple(
        known[name] if name in known else _cell(getattr(output, name)) for name in table.names
    )


def _cell(value: Any) -> Any:  # noqa: ANN401 -- a value of any column
    return list(value) if isinstance(value, tuple) else value
