"""Special lines of a history for `inventory fold`: blanks, needs, prices and timestamps."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from cdc.contracts.decode import timestamp_us
from cdc.contracts.history import fold_history
from tests.inventory.builders import Log, at, count, policy, price, sale


def folded(log: Log) -> list[dict[str, Any]]:
    return [json.loads(line) for line in fold_history(json.dumps(asdict(r)) for r in log.records)]


def test_blank_lines_are_passed_over() -> None:
    assert list(fold_history(["", "  \n"])) == []


def test_needs_and_price_proposals_are_outputs_of_the_record_that_opened_them() -> None:
    log = Log(commit_us=at("09:00"))
    ranged = policy(
        replenish_family="sS",
        order_up_to_units=9,
        price_mode="advise",
        regular_minor=999,
        cost_minor=2000,
    )
    log.insert("item_location", ranged)
    log.insert("stock_count", count(1, 3, at("08:00")))
    log.insert("price_change", price(1, 999, at("08:00")))
    log.insert("sale_line", sale(1, 3, at("10:00")), commit=at("10:00:01"))
    log.insert("sale_line", sale(2, 1, at("10:10")), commit=at("10:30:01"))

    outputs = [output for line in folded(log) for output in line.get("outputs", ())]

    found = {output["kind"]: output for output in outputs}
    assert found.keys() == {"reorder", "price"}
    assert (found["reorder"]["B"], found["reorder"]["S"]) == (0, 9)
    assert (found["price"]["old"], found["price"]["signal"]) == (999, "below_floor")


@pytest.mark.parametrize(
    "text", [1_795_229_285, None, "2026-11-21", "2026-11-21 02:48:05Z", "2026-13-41T02:48:05Z"]
)
def test_an_invalid_timestamp_is_passed_on_as_text(text: object) -> None:
    assert isinstance(timestamp_us(text), str)
