"""Patches for open pages: the cell texts of one key, and the position of its state.

A patch is rendered once per change and language, by the same functions as the page. The price has
its own time, `priced_at_us`: a page shows the price in force in the ledger, and a record with an
older price must not overwrite it.
"""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext

from cdc.contracts.state import decode_level
from inventory.model.price_timeline import in_force
from inventory.model.state import KeyState
from inventory.replenishment.levels import demand_micro
from ledger.kernel.amounts import amount_text
from webui.readmodel.figures import (
    LABELS,
    MEANINGS,
    cover_of,
    cover_text,
    signed_units_text,
    status_of,
    units_text,
)
from webui.readmodel.stock import StockRow

# {"position": [generation, offset], "cells": {name of a cell: text},
# "status": [code, label, meaning], "priced_at_us": microseconds since 1970 UTC}
Patch = dict[str, Any]


def patch_of_record(content: bytes) -> Patch:
    """Return the patch for a level record of the changelog."""
    state, _dropped = decode_level(content)
    at_us = state.stream_time_us
    priced = None if at_us is None else in_force(state.timeline, at_us)
    rate_micro = demand_micro(state.policy, state.demand.rate_micro)
    available = state.available_to_sell_units
    cells = {
        "on_hand": units_text(state.on_hand_units),
        "available": units_text(available),
        "in_transit": units_text(state.in_transit_units),
        "on_order": units_text(state.on_order_units),
        "cover": cover_text(
            cover_of(
                available_to_sell_units=available,
                in_transit_units=state.in_transit_units,
                rate_micro=rate_micro,
            )
        ),
        "price": amount_text(None if priced is None else priced.price_minor),
        **_detail_cells(state),
    }
    status = status_of(
        on_hand_units=state.on_hand_units,
        available_to_sell_units=available,
        reorder_point_units=state.reorder_point_units,
        order_up_to_units=state.order_up_to_units,
    )
    position = [state.position.generation, state.position.offset]
    return _patch(position, cells, status) | {"priced_at_us": at_us or 0}


def patch_of_row(row: StockRow) -> Patch:
    """Return the patch for a read-model row, for a page that reconnects."""
    cells = {
        "on_hand": units_text(row.on_hand_units),
        "available": units_text(row.available_to_sell_units),
        "in_transit": units_text(row.in_transit_units),
        "on_order": units_text(row.on_order_units),
        "cover": cover_text(row.cover_centidays),
        "price": amount_text(row.price_minor),
        "offset": str(row.offset),
    }
    patch = _patch([row.generation, row.offset], cells, row.status)
    return patch | {"priced_at_us": row.priced_at_us}


def _detail_cells(state: KeyState) -> Mapping[str, str]:
    return {
        "unavailable": units_text(state.unavailable_units),
        "allocated": signed_units_text(-state.allocated_units),
        "base_position": units_text(state.base_position_units),
        "offset": str(state.position.offset),
        "episode": gettext(state.episode.state.replace("-", " ")),
    }


def _patch(position: list[int], cells: Mapping[str, str], status: str) -> Patch:
    return {
        "position": position,
        "cells": dict(cells),
        "status": [status, gettext(LABELS[status]), gettext(MEANINGS[status])],
    }
