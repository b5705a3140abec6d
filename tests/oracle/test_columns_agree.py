"""Product and model accept the same values, for each column of each table."""

import json
import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest

from inventory.fold.partition import Partition
from inventory.model.record import Record
from tests.oracle import builders
from tests.oracle.builders import at
from tests.oracle.columns import COMMON, FAMILIES, TABLES
from tests.oracle.partition import Model

NOW = at(12)
Row = dict[str, Any]
ROWS: dict[str, tuple[Row, ...]] = {
    "sale_line": (builders.sale(1, 3, NOW), builders.sale(1, -3, NOW, condition="damaged")),
    "purchase_order_line": (
        builders.order(1, 5, NOW),
        builders.order(1, 5, NOW, confirmed_units=4, cancelled_units=4, reorder_id="R:L|S:1-0"),
    ),
    "shipment_line": tuple(
        builders.shipment(1, leg, status, NOW)
        for leg in ("supplier_in", "transfer_out", "transfer_in")
        for status in ("planned", "shipped", "received")
    ),
    "stock_count": (builders.count(1, 5, NOW), builders.count(1, 5, NOW, status="draft")),
    "stock_adjustment": (builders.adjustment(1, "found", 2, NOW),),
    "price_change": (
        {"id": 1, "effective_from": NOW, "price_minor": 9, "kind": "rule", "floor_minor": 1,
         "recorded_at": NOW},
    ),
    "reorder_decision": (builders.decision(1, "R:L|S:1-0", "snooze", NOW),),
    "price_decision": (
        {"id": 1, "proposal_id": "P:L|S:1-0", "action": "reject", "recorded_at": NOW},
    ),
    "pipeline_heartbeat": ({"id": 1, "beat": 1, "occurred_at": NOW, "recorded_at": NOW},),
    "item_location": tuple(
        builders.policy(NOW, replenish_family=family, levels=levels, order_quantity_units=6,
                        reorder_point_units=3, order_up_to_units=9)
        for family in FAMILIES
        for levels in ("fixed", "computed")
    ),
}  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, "", "x", "5", "a\0b", 0, 1, 2, -1, 127, 128, 143, 144, 145, 999, 1000, 1001,
    10**6, 10**6 + 1, -(10**6), -(10**6) - 1, 10**9, 10**9 + 1, 10**11, 10**11 + 1, -(10**11),
    -(10**11) - 1, 2**31, -(2**31) - 1, 2**53 - 1, 2**53, -(2**53),
    946_684_800_000_000, 946_684_799_999_999,
    1.0, 0.5, [], [1, 2], [-1], ["1"], [True], [1.5], {}, {"a": 1},
)  # fmt: skip


def record(table: str, op: str, before: Row | None, after: Row | None) -> dict[str, Any]:
    key = "~heartbeat|0" if table == "pipeline_heartbeat" else "L|S"
    return {
        "offset": 0, "table": table, "op": op, "key": key, "before": before, "after": after,
        "lsn": 7, "commit_us": NOW,
    }  # fmt: skip


# `make soak` tries each value in each row. Other runs try every nth pair, n = `stride(table)`.
LONG = os.environ.get("HYPOTHESIS_PROFILE") == "long"
MOST_ROWS = 13  # stride for policies; it doesn't divide the number of values


def stride(table: str) -> int:
    if LONG:
        return 1
    return MOST_ROWS if len(ROWS[table]) > MOST_ROWS else 5


def variants(table: str) -> Iterator[Row]:
    """Yield each row with one column changed or left out."""
    columns = {**TABLES[table], **COMMON}
    texts = {choice for column in columns.values() for choice in column.choices}
    for row in ROWS[table]:
        for name in ["id", "inv_key", "location", "sku", "unknown", *columns]:
            yield {key: found for key, found in row.items() if key != name}
            for value in [*VALUES, *sorted(texts), "L|S", "L", "S"]:
                yield {**row, name: value}


@pytest.mark.domain("2.6 *")
@pytest.mark.parametrize("table", TABLES)
def test_product_and_model_accept_and_refuse_the_same_rows(table: str) -> None:
    good = ROWS[table][0]
    # The stride counts over all rows, so different rows meet different values of a column.
    for row in islice(variants(table), 0, None, stride(table)):
        for op, before, after in (("c", None, row), ("d", row, None), ("u", good, row)):
            said = record(table, op, before, after)
            model = Model().apply(json.loads(json.dumps(said)))["verdict"]
            assert Partition(1).apply(Record(**said)).verdict == model, said
