"""Reason codes, their precedence and the limits of rows (domain.md 0, 2.6, 11.2, 11.8)."""

import pytest

from inventory.errors import Rejected
from inventory.fold.record import Refused
from inventory.log.validation import is_key
from inventory.model.arithmetic import MAX_STORED
from inventory.model.ids import InvKey
from inventory.tables.catalogue import PARSERS
from tests.inventory.builders import (
    KEY,
    MONDAY_US,
    Log,
    Row,
    adjustment,
    at,
    count,
    order_line,
    policy,
    price,
    sale,
    shipment,
)

NOON = at("12:00")


def verdict(table: str, op: str, before: Row | None, after: Row | None, key: str = KEY) -> str:
    written = Log(key=key, commit_us=NOON).write(table, op, before, after)
    return written.reason if isinstance(written, Refused) else written.verdict


GOOD, WRONG = sale(1, 1, NOON), sale(1, 0, NOON)


@pytest.mark.domain(
    "2.2 anything else",
    "11.2 Precedence",
    "11.2 Both images",
    "11.2 Key mismatch",
    "11.8 Prices",
    "11.9 Insert only",
)
@pytest.mark.parametrize(
    ("table", "op", "before", "after", "reason"),
    [
        ("nothing", "x", None, {"id": "1"}, "malformed"),
        ("nothing", "x", None, GOOD, "unknown_table"),
        ("sale_line", "x", None, GOOD, "unknown_op"),
        ("sale_line", "t", None, None, "unknown_op"),
        ("sale_line", "u", None, GOOD | {"sku": "other"}, "no_before_image"),
        ("sale_line", "d", None, None, "no_before_image"),
        ("sale_line", "c", None, None, "no_after_image"),
        ("sale_line", "u", GOOD, None, "no_after_image"),
        ("sale_line", "c", None, WRONG | {"sku": "other"}, "key_mismatch"),
        ("sale_line", "u", GOOD, GOOD | {"id": 2}, "key_mismatch"),
        ("price_change", "d", price(1, 5, NOON, floor_minor=9), None, "price_row_immutable"),
        ("price_change", "c", None, price(1, 5, NOON, floor_minor=9), "limit"),
        ("sale_line", "d", WRONG, None, "limit"),
        ("sale_line", "c", None, GOOD, "applied"),
    ],
)
def test_a_record_is_rejected_with_the_first_reason_that_applies(
    table: str, op: str, before: Row | None, after: Row | None, reason: str
) -> None:
    assert verdict(table, op, before, after) == reason


def test_a_snapshot_row_after_the_first_change_is_rejected_before_validation() -> None:
    log = Log(commit_us=NOON)
    log.insert("sale_line", WRONG)

    assert log.snapshot("sale_line", sale(2, 0, NOON)).verdict == "rejected:snapshot_after_start"


def test_an_update_of_a_rejected_row_does_not_add_its_units() -> None:
    """So the page System advises a new generation of the log, and not an update of the row."""
    log = Log(commit_us=NOON)
    log.insert("sale_line", GOOD)
    log.snapshot("sale_line", sale(2, 5, NOON))
    log.update("sale_line", sale(2, 5, NOON), sale(2, 5, NOON))

    assert log.state.stock.on_hand_units == -1


@pytest.mark.domain("11.1 Rejected", "11.2 Ring members")
def test_a_rejected_record_keeps_the_state_unchanged_and_enters_the_dedupe_ring() -> None:
    log = Log(commit_us=NOON)
    log.insert("sale_line", GOOD)
    state = log.state

    assert log.insert("sale_line", sale(2, 0, NOON), lsn=7).state is state
    assert log.insert("sale_line", sale(2, 1, NOON), lsn=7).verdict == "resent"
    assert log.state.resent == 1


@pytest.mark.domain("11.1 Range")
def test_a_record_with_an_overflowing_result_is_rejected() -> None:
    log = Log(commit_us=NOON)
    log.insert("item_location", policy(replenish_family="cover", levels="computed"))
    unbounded = policy(lead_time_centidays=MAX_STORED + 1)

    assert log.insert("item_location", unbounded).verdict == "rejected:overflow"


@pytest.mark.domain("11.2 Key mismatch")
@pytest.mark.parametrize(
    ("key", "valid"),
    [
        ("A|x", True), ("UK-1|a b", True), ("L|" + "x" * 32, True), ("L|" + "x" * 33, False),
        ("a|x", False), ("|x", False), ("A|", False), ("A", False), ("A|x|y", False),
        ("A| x", False), ("A|x ", False), ("A|x\n", False), ("A" * 25 + "|x", False),
    ],
)  # fmt: skip
def test_is_key_validates_location_and_sku(key: str, *, valid: bool) -> None:
    assert is_key(key) is valid


@pytest.mark.domain("2.3 price_change; decisions; heartbeat", "11.2 Key mismatch")
def test_heartbeats_are_applied_under_their_own_key() -> None:
    beat = {"id": 1, "beat": 5, "occurred_at": NOON}
    assert verdict("pipeline_heartbeat", "u", beat, beat, "~heartbeat|3") == "applied"
    assert verdict("pipeline_heartbeat", "u", beat, beat, "~heartbeat|x") == "key_mismatch"


RECEIVED = shipment(1, "supplier_in", "received", received_units=5, received_at=NOON)
SHIPPED = shipment(1, "transfer_out", "shipped", shipped_units=5, shipped_at=NOON)


@pytest.mark.domain("11.8 *")
@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("sale_line", sale(1, 1_000_001, NOON)),
        ("sale_line", sale(1, 1, NOON, amount=10**11 + 1)),
        ("sale_line", sale(1, 1, NOON, condition="new")),
        ("sale_line", sale(1, 1, 946_684_799_999_999)),
        ("sale_line", sale(1, 1, NOON) | {"quantity_units": True}),
        ("sale_line", sale(1, 1, NOON) | {"quantity_units": "1"}),
        ("sale_line", sale(1, 1, NOON) | {"occurred_at": None}),
        ("sale_line", sale(1, 1, NOON) | {"recorded_at": "now"}),
        ("sale_line", sale(1, 1, NOON) | {"source": None}),
        ("stock_count", count(1, -1, NOON)),
        ("stock_count", count(1, 1, NOON, status="done")),
        ("stock_adjustment", adjustment(1, "found", 0, NOON)),
        ("stock_adjustment", adjustment(1, "lost", 1, NOON)),
        ("purchase_order_line", order_line(1, 5, cancelled_units=6)),
        ("purchase_order_line", order_line(1, 5, confirmed_units=3, cancelled_units=4)),
        ("shipment_line", RECEIVED | {"order_units": 6}),
        ("shipment_line", RECEIVED | {"received_at": None}),
        ("shipment_line", RECEIVED | {"reorder_id": "R"}),
        ("shipment_line", RECEIVED | {"status": "shipped", "shipped_at": NOON}),
        ("shipment_line", SHIPPED | {"status": "received", "received_at": NOON}),
        ("shipment_line", SHIPPED | {"shipped_at": None}),
        ("shipment_line", SHIPPED | {"status": "planned"}),
        ("price_change", price(1, 0, NOON, floor_minor=0)),
        ("price_change", price(1, 10**9 + 1, NOON)),
        ("price_change", price(1, 999, NOON, step=2**31)),
        ("price_change", price(1, 999, NOON, step=-(2**31) - 1)),
        ("pipeline_heartbeat", {"id": 1, "beat": 2**53}),
        ("reorder_decision", {"id": 1, "reorder_id": "R", "action": "reject", "reason": "a\0b"}),
        ("item_location", policy(supplier="a\0b")),
        ("reorder_decision", {"id": 1, "reorder_id": "R", "action": "maybe"}),
        ("price_decision", {"id": 1, "proposal_id": "P", "action": "resume"}),
        ("item_location", policy(status=None)),
        ("item_location", policy(trading_windows=0)),
        ("item_location", policy(trading_windows=145)),
        ("item_location", policy(trading_from_window=144)),
        ("item_location", policy(pack_units=0)),
        ("item_location", policy(margin_permille=1000)),
        ("item_location", policy(order_days_mask=128)),
        ("item_location", policy(cost_minor=10**9 + 1)),
        ("item_location", policy(scarce_enabled=1)),
        ("item_location", policy(endings=99)),
        ("item_location", policy(ladder_permille=[100, -1])),
        ("item_location", policy(replenish_family="sQ", levels="computed")),
        ("item_location", policy(replenish_family="sS", reorder_point_units=5,
                                 order_up_to_units=5)),
        ("item_location", policy(replenish_family="par", levels="computed")),
        ("item_location", policy(replenish_family="RS")),
    ],
)  # fmt: skip
def test_rows_outside_their_limits_are_rejected(table: str, row: Row) -> None:
    assert verdict(table, "c", None, row) == "limit"


@pytest.mark.domain(
    "11.8 Ranges", "11.8 Families", "11.8 Orders", "11.8 Shipments", "11.8 Prices", "11.8 Dates"
)
@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("sale_line", sale(1, -1_000_000, 946_684_800_000_000, amount=-(10**11))),
        ("sale_line", sale(1, 1, NOON) | {"condition": None, "further": object}),
        ("purchase_order_line", order_line(1, 5, confirmed_units=9, cancelled_units=9)),
        ("shipment_line", RECEIVED | {"order_units": 5}),
        ("shipment_line", SHIPPED),
        ("price_change", price(1, 1, -5)),
        ("price_change", price(1, 999, NOON, step=2**31 - 1)),
        ("price_change", price(1, 999, NOON, step=-(2**31))),
        ("pipeline_heartbeat", {"id": 1, "beat": 2**53 - 1}),
        ("item_location", policy(supplier="\x01\uffff\U0010ffff")),
        ("item_location", policy(replenish_family="sQ", order_quantity_units=1)),
        ("item_location", policy(replenish_family="RS", levels="computed")),
        ("item_location", policy(replenish_family="sS", order_up_to_units=1)),
        ("item_location", policy(order_up_to_units=0, reorder_point_units=9)),
        ("item_location", policy(levels=None, pack_units=None, endings=[])),
    ],
)
def test_rows_at_the_edge_of_their_limits_are_applied(table: str, row: Row) -> None:
    assert verdict(table, "c", None, row) == "applied"


def test_a_rejection_message_has_column_rule_and_value() -> None:
    with pytest.raises(Rejected, match=r"limit: quantity_units must be other than 0, got 0"):
        PARSERS["sale_line"](InvKey(KEY), {**WRONG, "recorded_at": MONDAY_US})
