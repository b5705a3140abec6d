"""Limits that concern several columns of an image (sections 0, 2.3, 11.8)."""

from collections.abc import Mapping
from typing import Any

from tests.oracle.columns import (
    ALWAYS_TYPED,
    BASE_STOCK,
    LOTS,
    TWO_LEVELS,
    Limit,
    Row,
    business_times,
    is_after_2000,
    read_row,
)


def _require(name: str, *, holds: bool) -> None:
    if not holds:
        raise Limit(name)


def _sale_line(row: Row) -> None:
    _require("quantity_units", holds=row["quantity_units"] != 0)


def _purchase_order_line(row: Row) -> None:
    ordered = row["ordered_units"] if row["confirmed_units"] is None else row["confirmed_units"]
    _require("cancelled_units", holds=row["cancelled_units"] <= ordered)


def _shipment_line(row: Row) -> None:
    status = row["status"]
    _require("status", holds=row["leg"] != "transfer_out" or status != "received")
    _require("reorder_id", holds=row["leg"] == "transfer_in" or row["reorder_id"] is None)
    if status == "planned":
        _require("shipped_units", holds=row["shipped_units"] == 0)
    if status == "shipped":
        _require("shipped_at", holds=row["shipped_at"] is not None)
    arrived = row["received_units"] + row["damaged_units"]
    if status == "received":
        _require("received_at", holds=row["received_at"] is not None)
    else:
        _require("received_units", holds=arrived == 0)
    _require("order_units", holds=row["order_units"] <= arrived)


def _price_change(row: Row) -> None:
    _require("price_minor", holds=row["price_minor"] >= row["floor_minor"])


def _item_location(row: Row) -> None:
    family = row["replenish_family"]
    typed = row["levels"] == "fixed" or family in ALWAYS_TYPED
    if family in LOTS:
        _require("order_quantity_units", holds=row["order_quantity_units"] >= 1)
    if family in TWO_LEVELS and typed:
        _require("order_up_to", holds=row["order_up_to_units"] > row["reorder_point_units"])
    if family in BASE_STOCK and typed:
        _require("order_up_to", holds=row["order_up_to_units"] >= 1)


CHECKS = {
    "sale_line": _sale_line,
    "purchase_order_line": _purchase_order_line,
    "shipment_line": _shipment_line,
    "price_change": _price_change,
    "item_location": _item_location,
}


def checked(table: str, raw: Mapping[str, Any]) -> Row:
    """Return the image with defaults, or raise Limit with the column that violates a rule."""
    row = read_row(table, raw)
    _require("business time", holds=is_after_2000(business_times(table, row)))
    check = CHECKS.get(table)
    if check is not None:
        check(row)
    return row
