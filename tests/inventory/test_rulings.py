"""Rulings on edges, on both sides of each boundary, by the fold and by the second model."""

from typing import Any

import pytest

from inventory.fold.partition import Partition
from inventory.log.dedupe import Admission
from inventory.model.arithmetic import MAX_STORED, SECOND_US
from inventory.model.record import Record
from tests.oracle.both import FOLDS, folded, price, verdicts
from tests.oracle.builders import History, at, count, policy, sale
from tests.outcomes import refused

HEARTBEAT = "~heartbeat|0"
Row = dict[str, Any]


# A heartbeat's key.


@FOLDS
@pytest.mark.domain("11.2 Key mismatch")
def test_only_a_heartbeat_may_have_a_heartbeat_key(fold: Any) -> None:
    history = History(key=HEARTBEAT)
    beat = {"id": 1, "beat": 1, "recorded_at": at(9)}
    history.put("sale_line", "c", at(9), after=sale(1, 1, at(9)))
    history.put("pipeline_heartbeat", "c", at(9), after=beat)
    # The partition now has a state with this key, but still rejects a sale under it.
    history.put("sale_line", "c", at(9), after=sale(2, 1, at(9)))
    history.put("supplier", "c", at(9), after={"id": 1})

    records, states = folded(fold, history)

    assert [line["verdict"] for line in records] == [
        "rejected:key_mismatch",
        "applied",
        "rejected:key_mismatch",
        "rejected:unknown_table",
    ]
    assert states[HEARTBEAT]["on_hand"] == 0


@FOLDS
@pytest.mark.domain("11.2 Key mismatch")
@pytest.mark.parametrize(
    ("key", "verdict"),
    [
        ("~heartbeat|11", "applied"),
        ("~heartbeat|", "rejected:key_mismatch"),
        ("~heartbeat|x", "rejected:key_mismatch"),
        ("~beat|0", "rejected:key_mismatch"),
        ("L|S", "applied"),
    ],
)
def test_a_heartbeat_has_the_key_of_a_partition_or_of_an_item(
    fold: Any, key: str, verdict: str
) -> None:
    history = History(key=key)
    history.put("pipeline_heartbeat", "c", at(9), after={"id": 1, "beat": 1})

    assert verdicts(fold, history) == [verdict]


# Commit times.


@FOLDS
@pytest.mark.domain("11.2 Malformed")
@pytest.mark.parametrize("commit", [MAX_STORED + 1, -MAX_STORED - 1, 2**63])
@pytest.mark.parametrize("op", ["c", "r"])
def test_a_commit_time_out_of_range_is_malformed_and_changes_no_state(
    fold: Any, commit: int, op: str
) -> None:
    history = History()
    history.put("sale_line", op, commit, after=sale(1, 5, at(9)))
    # The ring is unchanged and snapshot rows are still allowed: both next records apply.
    history.put("sale_line", "r", at(9), after=sale(1, 5, at(9)))
    history.put("sale_line", "c", at(9), after=sale(2, 1, at(9)))

    records, states = folded(fold, history)

    assert [line["verdict"] for line in records] == ["rejected:malformed", "applied", "applied"]
    assert (states["L|S"]["on_hand"], states["L|S"]["stream_time_us"]) == (-6, at(9))


@FOLDS
@pytest.mark.domain("11.2 Malformed")
def test_the_last_commit_times_in_range_are_taken(fold: Any) -> None:
    history = History()
    history.put("sale_line", "c", -MAX_STORED, after=sale(1, 5, at(9)))
    history.put("sale_line", "c", MAX_STORED, after=sale(2, 5, at(9)))
    history.put("sale_line", "c", at(9), after=sale(3, 5, at(9)))
    history.put("sale_line", "c", at(9), after=sale(4, 5, at(9)))
    history.records[3]["lsn"] = 1

    assert verdicts(fold, history) == [*["applied"] * 3, "rejected:before_dedupe_horizon"]


@pytest.mark.domain("11.2 Malformed")
def test_a_malformed_archived_record_keeps_the_newest_commit_time() -> None:
    partition = Partition(1)
    row = sale(1, 5, at(9))
    partition.apply_admitted(Record(0, "L|S", "sale_line", "c", None, row, 1, at(9)), Admission.NEW)
    late = Record(1, "L|S", "sale_line", "c", None, {"id": "x"}, 2, at(10))

    folded = partition.apply_admitted(late, Admission.MALFORMED)

    assert (folded.verdict, partition.newest_commit_us) == ("rejected:malformed", at(9))
    assert "integer id" in refused(folded).detail
    beyond = Record(2, "L|S", "sale_line", "c", None, row, 3, MAX_STORED + 1)
    assert str(MAX_STORED + 1) in refused(partition.apply(beyond)).detail


# Re-sent records.


@FOLDS
@pytest.mark.domain("11.2 Ring members", "4 connector re-send")
@pytest.mark.parametrize(
    ("seconds", "verdicts_after"),
    [
        # When the row is sent again, the ring still holds it. That record moves the newest commit
        # time, so the ring forgets the row. The re-sent record doesn't enter the ring.
        (120, ["resent", "rejected:snapshot_after_start"]),
        (119, ["resent", "resent"]),
    ],
)
def test_a_resent_record_is_checked_against_the_ring_before_its_own_commit_time(
    fold: Any, seconds: int, verdicts_after: list[str]
) -> None:
    history = History()
    history.put("sale_line", "r", at(9), after=sale(1, 5, at(9)))
    history.put("sale_line", "c", at(9), after=sale(2, 1, at(9)))
    again = history.put("sale_line", "r", at(9) + seconds * SECOND_US + 1, after=sale(1, 5, at(9)))
    history.put("sale_line", "r", again["commit_us"], after=sale(1, 5, at(9)))

    assert verdicts(fold, history)[2:] == verdicts_after


@FOLDS
@pytest.mark.domain("4 re-send older than the ring", "4 connector re-send")
@pytest.mark.parametrize(
    ("lsn", "verdict"), [(500, "rejected:before_dedupe_horizon"), (501, "applied")]
)
def test_a_record_sent_again_moves_the_newest_commit_time_and_the_highest_lsn(
    fold: Any, lsn: int, verdict: str
) -> None:
    history = History()
    history.put("sale_line", "r", at(9), after=sale(1, 5, at(9)))
    # The re-sent row has a higher LSN and a commit time 121 s later. Both affect the next record.
    again = history.put("sale_line", "r", at(9) + 121 * SECOND_US, after=sale(1, 5, at(9)))
    again["lsn"] = 500
    old = history.put("sale_line", "c", at(9), after=sale(2, 1, at(9)))
    old["lsn"] = lsn

    assert verdicts(fold, history) == ["applied", "resent", verdict]


# Columns.


@FOLDS
@pytest.mark.domain("11.8 Lower ends")
@pytest.mark.parametrize(
    ("column", "good", "bad"),
    [
        ("auto_max_minor", 0, -1),
        ("phantom_lambda_micro", 0, -1),
        ("service_z_micro", 0, -1),
        ("initial_rate_micro", 0, -1),
        ("pallet_packs", 0, -1),
        ("demand_alpha_permille", 0, -1),
        ("demand_alpha_permille", 1000, 1001),
    ],
)
def test_a_policy_column_has_the_limits_of_domain_md(
    fold: Any, column: str, good: int, bad: int
) -> None:
    history = History()
    history.put("item_location", "c", at(9), after=policy(at(9), **{column: bad}))
    history.put("item_location", "c", at(9), after=policy(at(9), **{column: good}))

    assert verdicts(fold, history) == ["rejected:limit", "applied"]


@FOLDS
@pytest.mark.domain("11.8 Lower ends")
@pytest.mark.parametrize(
    ("columns", "verdict"),
    [
        ({"floor_minor": 0}, "applied"),
        ({"floor_minor": -1}, "rejected:limit"),
        ({"effective_from": MAX_STORED}, "applied"),
        ({"effective_from": MAX_STORED + 1}, "rejected:limit"),
        ({"effective_from": -MAX_STORED}, "applied"),
        ({"effective_from": -MAX_STORED - 1}, "rejected:limit"),
    ],
)
def test_a_price_row_has_the_limits_of_domain_md(fold: Any, columns: Row, verdict: str) -> None:
    history = History()
    # With two newer rows, the state doesn't keep the oldest one.
    history.put("price_change", "c", at(9), after=price(1, 999, at(9, days=-50)))
    history.put("price_change", "c", at(9), after=price(2, 999, at(9, days=-40)))
    history.put("price_change", "c", at(9), after={**price(3, 999, at(9)), **columns})

    assert verdicts(fold, history)[2] == verdict


@FOLDS
@pytest.mark.domain("11.8 Lower ends")
@pytest.mark.parametrize(
    ("beat", "verdict"),
    [
        (MAX_STORED, "applied"),
        (MAX_STORED + 1, "rejected:limit"),
        (-MAX_STORED, "applied"),
        (-MAX_STORED - 1, "rejected:limit"),
    ],
)
def test_a_heartbeat_number_outside_the_stored_range_is_rejected(
    fold: Any, beat: int, verdict: str
) -> None:
    history = History(key=HEARTBEAT)
    history.put("pipeline_heartbeat", "c", at(9), after={"id": 1, "beat": beat})

    assert verdicts(fold, history) == [verdict]


# Windows from which more units were retracted than they had counted.


def day_of_demand(fold: Any, taken_back: int, *, on_hand: int) -> Row:
    """Return the state after two observed days.

    On the second day, 2 units are sold at 10:00. At 11:00, a sale of `taken_back` units is deleted.
    The log has no insert of this sale.
    """
    history = History()
    rules = policy(at(0), demand_alpha_permille=1000, trading_windows=144)
    history.put("item_location", "c", at(0), after=rules)
    history.put("stock_count", "c", at(1), after=count(1, on_hand, at(1)))
    history.put("sale_line", "c", at(10, days=1), after=sale(1, 4, at(10, days=1)))
    history.put("sale_line", "c", at(10, days=2), after=sale(2, 2, at(10, days=2)))
    if taken_back:
        gone = sale(9, taken_back, at(11, days=2))
        history.put("sale_line", "d", at(11, days=2), before=gone)
    history.put("sale_line", "c", at(1, days=3), after=sale(3, 1, at(1, days=3)))
    return folded(fold, history)[1]["L|S"]


@FOLDS
@pytest.mark.domain("11.6 Observed units")
@pytest.mark.parametrize("taken_back", [0, 1, 2, 3, 1000])
def test_a_window_with_negative_sold_units_counts_as_zero_demand(
    fold: Any, taken_back: int
) -> None:
    state = day_of_demand(fold, taken_back, on_hand=100)

    assert (state["rate"], state["quiet_windows"]) == (2_000_000, 0)
    assert state["rate_at_last_sale"] == 2_000_000
    if taken_back:
        assert state["windows"][str(at(11, days=2))][0] == -taken_back


@FOLDS
@pytest.mark.domain("11.6 Observed units")
@pytest.mark.parametrize(("units", "rate"), [(1, 1_000_000), (0, 0), (-1, 0), (-1000, 0)])
def test_a_rate_never_falls_below_zero(fold: Any, units: int, rate: int) -> None:
    history = History()
    history.put("item_location", "c", at(0), after=policy(at(0), demand_alpha_permille=1000))
    history.put("stock_count", "c", at(1), after=count(1, 50, at(1)))
    history.put("sale_line", "c", at(10, days=1), after=sale(1, 4, at(10, days=1)))
    if units:
        op, image = ("c", "after") if units > 0 else ("d", "before")
        row = sale(2, abs(units), at(10, days=2))
        history.put("sale_line", op, at(10, days=2), **{image: row})
    history.put("sale_line", "c", at(1, days=3), after=sale(3, 1, at(1, days=3)))

    assert folded(fold, history)[1]["L|S"]["rate"] == rate


@FOLDS
@pytest.mark.domain("11.6 Observed units")
@pytest.mark.parametrize(
    ("on_hand", "rate"),
    [
        # With stock, no window counts as sold out, even if its units are below 0.
        (50, 0),
        # With 0 on hand, all 144 windows count as sold out, even the one with units below 0.
        (0, None),
    ],
)
def test_a_window_with_negative_units_is_sold_out_only_without_stock(
    fold: Any, on_hand: int, rate: int | None
) -> None:
    history = History()
    history.put("item_location", "c", at(0), after=policy(at(0)))
    history.put("stock_count", "c", at(1), after=count(1, on_hand, at(1)))
    gone = sale(9, 3, at(23, 50, days=1))
    less = {**gone, "quantity_units": 1}
    history.put("sale_line", "u", at(23, 55, days=1), before=gone, after=less)
    history.put("stock_count", "c", at(23, 59, days=1), after=count(2, on_hand, at(23, 59, days=1)))
    history.put("sale_line", "c", at(1, days=2), after=sale(3, 1, at(1, days=2)))
    state = folded(fold, history)[1]["L|S"]

    assert state["windows"][str(at(23, 50, days=1))][0] == -2
    assert state["rate"] == rate
    assert state["observed_days"] == (0 if rate is None else 1)


# The limit of a day's counts, and a folded count whose row changes.


def crowded(number: int) -> History:
    history = History()
    for row_id in range(1, number + 1):
        history.put("stock_count", "c", at(12), after=count(row_id, 5, at(9, 0, row_id % 50)))
    return history


@FOLDS
@pytest.mark.domain("11.4 Thousand")
def test_a_count_below_the_daily_limit_is_checked_against_the_horizon(fold: Any) -> None:
    history = crowded(999)
    # The commit time of this record moves the horizon past the day of its own count.
    history.put("stock_count", "c", at(12, days=4), after=count(2001, 5, at(10)))
    history.put("stock_count", "c", at(12, days=3), after=count(2002, 5, at(10)))

    assert verdicts(fold, history)[999:] == ["rejected:count_beyond_horizon", "applied"]


@FOLDS
@pytest.mark.domain("11.4 Thousand")
def test_the_daily_count_limit_is_checked_before_the_horizon(fold: Any) -> None:
    """An update of one of the thousand counts is still allowed, because it adds no count."""
    history = crowded(1000)
    for row_id, days in ((2001, 0), (2002, 4)):
        history.put("stock_count", "c", at(12, days=days), after=count(row_id, 5, at(10)))
    old = count(7, 5, at(9, 0, 7))
    history.put("stock_count", "u", at(12), before=old, after={**old, "units": 6})
    history.put("stock_count", "c", at(12, days=4), after=count(2003, 5, at(12, days=4)))
    # The day of the thousand counts is before the horizon now, so its limit doesn't apply.
    history.put("stock_count", "c", at(12, days=4), after=count(2004, 5, at(10)))

    assert verdicts(fold, history)[1000:] == [
        *("rejected:limit", "rejected:limit"),
        *("applied", "applied", "rejected:count_beyond_horizon"),
    ]


@FOLDS
@pytest.mark.domain("11.2 Refused change", "11.4 Folded row")
@pytest.mark.parametrize(
    ("days", "shrink"),
    [
        # Retained: the update retracts the count of 09:00. Expected are -2 units, counted are 7.
        (3, -9),
        # Folded: the count of 09:00 stays. Expected are 5 - 2 = 3 units, counted are 7.
        (4, -4),
    ],
)
def test_a_folded_count_remains_after_an_update_of_its_row(
    fold: Any, days: int, shrink: int
) -> None:
    history = History()
    first = count(1, 5, at(9), kind="opening")
    draft = {**first, "status": "draft"}
    history.put("stock_count", "c", at(9), after=first)
    history.put("sale_line", "c", at(10), after=sale(1, 1, at(10)))
    # This record retracts the count. It is older than the ring and rejected, so the count stays.
    lost = history.put("stock_count", "u", at(9) - 200 * SECOND_US, before=first, after=draft)
    lost["lsn"] = 1
    history.put("sale_line", "c", at(9, days=days), after=sale(2, 1, at(9, days=days)))
    new = count(1, 7, at(10, days=days), kind="recount")
    history.put("stock_count", "u", at(10, days=days), before=draft, after=new)
    records, states = folded(fold, history)

    assert records[2]["verdict"] == "rejected:before_dedupe_horizon"
    assert records[4]["verdict"] == "applied"
    assert (states["L|S"]["on_hand"], states["L|S"]["shrink"]) == (7, shrink)
