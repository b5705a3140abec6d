"""Duplicate detection: verdicts that depend on the log's history (domain.md 4)."""

from dataclasses import replace

import pytest

from inventory.errors import BrokenInvariant
from inventory.log import dedupe
from inventory.log.dedupe import HORIZON_US, Admission, Ring
from inventory.model.record import Record

START_US = 1_700_000_000_000_000


def change(row_id: int, commit_us: int, *, lsn: int = 1, op: str = "c", offset: int = 0) -> Record:
    return Record(offset, "L|S", "sale_line", op, None, {"id": row_id}, lsn, commit_us)


@pytest.mark.domain("4 connector re-send", "4 two rows that look alike")
def test_records_with_equal_table_key_lsn_and_op_are_duplicates() -> None:
    ring, record = Ring(), change(1, START_US)

    assert ring.admit(record) is Admission.NEW
    assert ring.admit(replace(record, offset=9)) is Admission.RESENT
    assert ring.admit(replace(record, op="u")) is Admission.NEW
    assert ring.admit(replace(record, table="stock_count")) is Admission.NEW
    assert ring.admit(replace(record, after={"id": 2})) is Admission.NEW


@pytest.mark.parametrize(("age_us", "admission"), [
    (HORIZON_US, Admission.RESENT), (HORIZON_US + 1, Admission.BEFORE_DEDUPE_HORIZON),
])  # fmt: skip
def test_the_dedupe_ring_holds_120_seconds_of_commit_time(
    age_us: int, admission: Admission
) -> None:
    ring, old = Ring(), change(1, START_US)
    ring.admit(old)

    ring.admit(change(2, START_US + age_us))

    assert ring.admit(old) is admission


def test_the_dedupe_ring_returns_its_time_span() -> None:
    ring = Ring()
    assert ring.span_us == 0

    for age_us in (0, 5, HORIZON_US, HORIZON_US + 5):
        ring.admit(change(age_us, START_US + age_us))

    assert ring.span_us == HORIZON_US
    ring.admit(change(1, START_US + 10 * HORIZON_US))
    assert ring.span_us == 0


@pytest.mark.domain("4 re-send older than the ring")
def test_an_old_record_with_a_new_lsn_is_new() -> None:
    ring = Ring()
    ring.admit(change(1, START_US + HORIZON_US + 1, lsn=7))

    assert ring.admit(change(2, START_US, lsn=8)) is Admission.NEW
    assert ring.admit(change(3, START_US, lsn=8)) is Admission.BEFORE_DEDUPE_HORIZON


@pytest.mark.domain("2.2 r *", "11.2 Ring members", "11.2 Heartbeats")
def test_the_dedupe_ring_drops_no_record_during_a_snapshot() -> None:
    ring = Ring()
    first = change(1, START_US, op="r")
    ring.admit(first)
    ring.admit(change(2, START_US + 10 * HORIZON_US, op="r"))
    assert ring.admit(first) is Admission.RESENT

    ring.admit(change(3, START_US + 10 * HORIZON_US, op="u"))

    assert ring.admit(first) is Admission.SNAPSHOT_AFTER_START
    assert ring.streamed


@pytest.mark.domain("11.2 Malformed")
@pytest.mark.parametrize(
    "image", ["text", 7, [], {"id": None}, {"id": "1"}, {"id": True}, {"id": 1.0}, {}]
)
def test_an_image_without_an_integer_id_is_malformed(image: object) -> None:
    ring = Ring()

    assert ring.admit(replace(change(1, START_US), after=image)) is Admission.MALFORMED
    assert (ring.newest_commit_us, ring.streamed, ring.identities()) == (None, False, ())


def test_the_length_of_the_dedupe_ring_is_its_number_of_records() -> None:
    ring = Ring()
    ring.admit(change(1, START_US, lsn=1))
    ring.admit(change(2, START_US + 1, lsn=2))

    assert len(ring) == 2

    ring.admit(change(3, START_US + 3 * HORIZON_US, lsn=3))

    assert len(ring) == 1


def test_the_dedupe_ring_returns_the_offset_to_replay_from() -> None:
    """The clock is set back by more than the ring's 120 s, and forward again."""
    ring = Ring()
    assert ring.replayed_from(7) == 7

    for offset, age_us in enumerate((0, HORIZON_US, -1, HORIZON_US + 5)):
        ring.admit(replace(change(offset, START_US + age_us, lsn=offset), offset=offset + 7))
        assert ring.replayed_from(99) == (8 if offset == 3 else 7)
    ring.admit(replace(change(9, START_US + 9 * HORIZON_US, lsn=9), offset=15))

    assert ring.replayed_from(99) == 15
    assert ring.identities() == ((START_US + 9 * HORIZON_US, ("sale_line", 9, 9, "c"), 15),)


@pytest.mark.parametrize(("second_us", "begins"), [(0, 8), (1, 0), (HORIZON_US + 9, 0)])
def test_a_ring_with_a_later_copy_of_a_snapshot_row_is_replayed_from_offset_0(
    second_us: int, begins: int
) -> None:
    """Within 120 s of the second copy, a replay from offset 8 would take this copy for new."""
    ring = Ring()
    row = change(1, START_US, op="r")
    ring.admit(replace(row, offset=7))
    ring.admit(change(2, START_US + HORIZON_US, op="r", offset=8))
    assert ring.replayed_from(9) == 7

    ring.admit(replace(row, commit_us=START_US + second_us, offset=9))
    ring.admit(change(3, START_US + HORIZON_US + 1, lsn=7, offset=10))
    assert ring.replayed_from(11) == begins

    ring.admit(change(4, START_US + 3 * HORIZON_US, lsn=8, offset=11))
    assert ring.replayed_from(12) == 11


def test_a_resent_record_before_the_replay_advances_the_dedupe_ring() -> None:
    """No first copy is replayed. A snapshot row (`r`) counts as later than its first copy."""
    ring = Ring()
    ring.replay(change(1, START_US, lsn=5))

    ring.note_resent(change(2, START_US, lsn=6))
    assert (ring.newest_resent_us, ring.highest_lsn) == (None, 6)

    ring.note_resent(change(3, START_US + HORIZON_US + 1, lsn=8, op="r"))
    assert (ring.newest_resent_us, ring.newest_commit_us) == (START_US + HORIZON_US + 1,) * 2
    assert (ring.highest_lsn, ring.identities()) == (8, ())


def test_a_restored_dedupe_ring_gives_the_same_verdicts() -> None:
    ring, again = Ring(), Ring()
    for row_id in range(5):
        ring.admit(change(row_id, START_US + row_id * HORIZON_US // 3, lsn=row_id))

    again.resume(
        newest_commit_us=ring.newest_commit_us, highest_lsn=ring.highest_lsn, streamed=ring.streamed
    )
    for row_id in range(5):
        again.replay(change(row_id, START_US + row_id * HORIZON_US // 3, lsn=row_id))

    probes = [change(row_id, START_US + row_id * HORIZON_US // 3, lsn=row_id) for row_id in (0, 3)]
    assert [again.admit(probe) for probe in probes] == [
        Admission.BEFORE_DEDUPE_HORIZON,
        Admission.RESENT,
    ]


def test_too_many_records_in_the_dedupe_ring_raise_broken_invariant(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dedupe, "MOST_MEMBERS", 3)
    ring = Ring()
    ring.admit(change(0, START_US))
    ring.admit(change(1, START_US - HORIZON_US // 2))
    for row_id in (2, 3):  # the ring drops the change of row 1, which is older than 120 s by then
        ring.admit(change(row_id, START_US + HORIZON_US * 3 // 4))

    with pytest.raises(BrokenInvariant, match="4 records within 120 s"):
        ring.admit(change(4, START_US + HORIZON_US * 3 // 4))
