"""One test for each history that showed a difference of fold and model, or an endless fold."""

import json
from typing import Any

import pytest

from cdc.contracts.history import fold_history
from inventory.model.arithmetic import SECOND_US
from tests.oracle.builders import History, adjustment, at, count, policy
from tests.oracle.compare import difference


def fold(history: History, upto: int | None = None) -> list[dict[str, Any]]:
    texts = [json.dumps(record) for record in history.records[:upto]]
    return [json.loads(line) for line in fold_history(texts, every=None)]


def test_a_review_mark_far_in_the_future_is_rejected_as_overflow() -> None:
    history, now = History(), at(9)
    row = policy(now, clock_mode="replayed", reviewed_at=now)
    history.put("item_location", "c", now, after=row)
    history.put("stock_count", "c", now, after=count(1, 5, now))
    far = {**row, "reviewed_at": 2**62}
    history.put("item_location", "u", now, before=row, after=far)

    lines = fold(history)

    assert [line["verdict"] for line in lines[:3]] == ["applied", "applied", "rejected:overflow"]
    assert lines[3]["state"]["stream_time_us"] == now
    assert difference(history.records) is None


@pytest.mark.domain("11.2 Refused change")
def test_an_update_whose_before_image_was_never_folded_finds_the_count_by_id() -> None:
    history, now = History(), at(9)
    first = count(7, 8, at(8), kind="opening")
    history.put("stock_count", "c", now, after=first)
    # The fold rejected the record that moves the count to 08:30, so it has no effect.
    moved = {**first, "occurred_at": at(8, 30), "recorded_at": at(8, 30)}
    history.put("stock_count", "u", at(9, 5), before=moved, after={**moved, "kind": "cycle"})

    state = fold(history)[-1]["state"]

    assert (state["on_hand"], state["sum_variances"], state["shrink"]) == (8, 8, -8)
    assert difference(history.records) is None


@pytest.mark.domain("11.2 Refused change", "11.4 Approved")
def test_only_an_approved_image_replaces_a_count_whose_void_was_rejected() -> None:
    history, now = History(), at(9)
    first = count(7, 8, at(8), kind="opening")
    void = {**first, "status": "void"}
    history.put("stock_count", "c", now, after=first)
    # The record that retracts the count is older than the ring, so it is rejected.
    lost = history.put("stock_count", "u", now - 200 * SECOND_US, before=first, after=void)
    lost["lsn"] = 1
    history.put("stock_count", "u", at(9, 5), before=void, after={**void, "units": 9})
    history.put("stock_count", "u", at(9, 6), before=void, after={**first, "units": 3})

    lines = fold(history)

    assert lines[-1]["state"]["on_hand"] == 3
    assert fold(history, upto=3)[-1]["state"]["on_hand"] == 8
    assert [line["verdict"] for line in lines[:4]] == [
        *("applied", "rejected:before_dedupe_horizon", "applied", "applied"),
    ]
    assert difference(history.records[:3]) is None
    assert difference(history.records) is None


@pytest.mark.domain("11.2 Refused change")
def test_a_delete_after_a_rejected_update_does_not_remove_the_count() -> None:
    history, late = History(), at(9, days=6)
    first = count(7, 8, at(8), kind="opening")
    history.put("stock_count", "c", at(8), after=first)
    moved = {**first, "units": 3, "occurred_at": late, "recorded_at": late}
    history.put("stock_count", "u", late, before=first, after=moved)
    history.put("stock_adjustment", "c", late, after=adjustment(1, "found", 1, late))
    history.put("stock_count", "d", late, before=moved)

    lines = fold(history)

    verdicts = [line["verdict"] for line in lines[:4]]
    assert verdicts == ["applied", "rejected:count_beyond_horizon", "applied", "applied"]
    assert lines[-1]["state"]["on_hand"] == 9
    assert difference(history.records) is None
