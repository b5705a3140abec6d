"""Facts that only Postgres or only Kafka has at the cut of a comparison."""

from typing import Any

import pytest

from analytics.verification.comparison import lines_moved
from analytics.verification.cut import Cut
from analytics.verification.in_flight import Logged, Moved, moved
from analytics.verification.snapshot import Snapshot
from inventory.model.ids import InvKey, Position
from inventory.model.record import Record
from inventory.model.state import KeyState

BEFORE = Snapshot(xmin=100, xmax=100, running=frozenset(), at_us=0)
TAKEN = Snapshot(xmin=110, xmax=120, running=frozenset({110}), at_us=0)
CUT = Cut({3: 50})


def image(units: int) -> dict[str, Any]:
    return {"id": 7, "location": "L", "quantity_units": units}


def logged(
    offset: int,
    xid: int,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    lsn: int | None = None,
) -> Logged:
    op = "c" if before is None else "d" if after is None else "u"
    record = Record(offset, "L|S", "sale_line", op, before, after, lsn or offset, 0)
    return Logged(record, 3, xid, ("sale_line", 7))


ROW = ("sale_line", 7)


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ([logged(50, 105, None, image(2))], Moved(None, image(2))),
        ([logged(50, 105, image(1), image(2))], Moved(image(1), image(2))),
        ([logged(50, 105, image(1), None)], Moved(image(1), None)),
        (
            [logged(50, 105, None, image(1)), logged(51, 106, image(1), image(2))],
            Moved(None, image(2)),
        ),
        ([logged(49, 110, None, image(2))], Moved(image(2), None)),
        ([logged(49, 110, image(1), None)], Moved(None, image(1))),
    ],
    ids=["insert", "update", "delete", "insert and update", "early insert", "early delete"],
)
def test_a_row_in_flight_is_compared_as_of_the_cut(records: list[Logged], expected: Moved) -> None:
    assert moved(records, BEFORE, TAKEN, CUT) == {ROW: expected}


@pytest.mark.parametrize(
    "records",
    [
        [logged(49, 105, None, image(2))],
        [logged(50, 120, None, image(2))],
        [logged(50, 110, None, image(2))],
        [logged(50, 99, None, image(2))],
        [logged(49, 105, None, image(2), lsn=8), logged(60, 105, None, image(2), lsn=8)],
    ],
    ids=["on both sides", "later", "still running", "sent again", "sent again at once"],
)
def test_a_row_that_postgres_and_kafka_both_have_or_lack_is_not_corrected(
    records: list[Logged],
) -> None:
    assert moved(records, BEFORE, TAKEN, CUT) == {}


def test_the_cut_of_a_key_can_be_later_than_the_cut_of_its_partition() -> None:
    level = KeyState(InvKey("L|S"), Position(1, 55))
    cut = Cut({3: 50}, {level.inv_key: level})

    assert cut.holds("L|S", 3, 55)
    assert not cut.holds("L|S", 3, 56)
    assert not cut.holds("L|T", 3, 55)
    assert cut.holds("L|T", 3, 49)


def test_lines_in_flight_are_subtracted_from_the_committed_lines() -> None:
    other = {**image(1), "location": "M"}
    rows = {
        ROW: Moved(None, image(2)),
        ("sale_line", 8): Moved(image(2), image(1)),
        ("sale_line", 9): Moved(None, other),
        ("stock_count", 9): Moved(None, image(1)),
    }

    assert lines_moved(rows, None) == -2
    assert lines_moved(rows, "L") == -1


def test_a_postgres_snapshot_sees_only_transactions_that_had_ended() -> None:
    assert [TAKEN.sees(xid) for xid in (109, 110, 111, 119, 120)] == [
        True,
        False,
        True,
        True,
        False,
    ]
    assert [TAKEN.is_later(xid) for xid in (119, 120)] == [False, True]


def test_a_snapshot_compares_32_bit_transaction_ids_after_a_wraparound() -> None:
    wide = 5 << 32
    wrapped = Snapshot(xmin=wide - 2, xmax=wide + 10, running=frozenset({wide - 1}), at_us=0)

    assert wrapped.sees(2**32 - 3)
    assert not wrapped.sees(2**32 - 1)
    assert wrapped.sees(9)
    assert wrapped.is_later(10)
