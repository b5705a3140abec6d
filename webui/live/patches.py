"""What an open page is told about one key: texts for its cells, with the position they belong to.

A patch is rendered once per change, whoever looks at it, by the same functions as the page.
"""

from collections.abc import Callable, Mapping
from typing import Any

from cdc.contracts.state import decode_level
from inventory.model.price_timeline import in_force
from inventory.model.state import KeyState
from webui.readmodel.figures import (
    LABELS,
    MEANINGS,
    money_text,
    signed_units_text,
    status_of,
    units_text,
)
from webui.readmodel.stock_selectors import StockRow

Patch = dict[str, Any]
Render = Callable[[bytes], Patch]


def patch_of_record(content: bytes) -> Patch:
    """The patch for a level record of the changelog."""
    state, _dropped = decode_level(content)
    priced = (
        None if state.stream_time_us is None else in_force(state.timeline, state.stream_time_us)
    )
    available = state.available_to_sell_units
    cells = {
        "on_hand": units_text(state.on_hand_units),
        "available": units_text(available),
        "in_transit": units_text(state.in_transit_units),
        "on_order": units_text(state.on_order_units),
        "price": money_text(None if priced is None else priced.price_minor),
        **_detail_cells(state),
    }
    status = status_of(
        on_hand_units=state.on_hand_units,
        available_to_sell_units=available,
        reorder_point_units=state.reorder_point_units,
        order_up_to_units=state.order_up_to_units,
    )
    position = [state.position.generation, state.position.offset]
    return _patch(position, cells, status)


def patch_of_row(row: StockRow) -> Patch:
    """The patch for a row of the read model: what a page that was away needs to know."""
    cells = {
        "on_hand": units_text(row.on_hand_units),
        "available": units_text(row.available_to_sell_units),
        "in_transit": units_text(row.in_transit_units),
        "on_order": units_text(row.on_order_units),
        "price": money_text(row.price_minor),
    }
    return _patch([row.generation, row.offset], cells, row.status)


def _detail_cells(state: KeyState) -> Mapping[str, str]:
    return {
        "unavailable": units_text(state.unavailable_units),
        "allocated": signed_units_text(-state.allocated_units),
        "base_position": units_text(state.base_position_units),
        "offset": str(state.position.offset),
        "episode": state.episode.state.replace("-", " "),
    }


def _patch(position: list[int], cells: Mapping[str, str], status: str) -> Patch:
    return {
        "position": position,
        "cells": dict(cells),
        "status": [status, LABELS[status], MEANINGS[status]],
    }
