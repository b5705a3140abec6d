"""Replays of a rejected record: the same change with a new commit time."""

import json
from pathlib import Path

import pytest

from cdc.contracts.decode import decode
from cdc.contracts.envelope import Malformed
from cdc.contracts.replays import with_commit_time
from inventory.log.dedupe import HORIZON_US, Admission, Ring
from inventory.model.record import Record

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "stock_count.c.json"


def golden() -> tuple[bytes, bytes]:
    record = json.loads(GOLDEN.read_text(encoding="utf-8"))
    return record["key"].encode(), record["value"].encode()


def decoded(value: bytes, offset: int) -> Record:
    return decode(golden()[0], value, offset=offset)


def test_only_the_commit_time_of_a_replay_is_new() -> None:
    _, value = golden()
    original = decoded(value, 1)

    again = decoded(with_commit_time(value, original.commit_us + 7), 1)

    assert again.commit_us == original.commit_us + 7
    for name in ("key", "table", "op", "before", "after", "lsn"):
        assert getattr(again, name) == getattr(original, name)


def test_the_dedupe_ring_admits_the_replay_of_an_expired_record_once() -> None:
    _, value = golden()
    original = decoded(value, 1)
    ring = Ring()
    now = original.commit_us + 3 * HORIZON_US
    newer = json.loads(value)
    newer["source"] |= {"ts_us": now, "lsn": (original.lsn or 0) + 1}
    newer["after"]["id"] = 9
    assert ring.admit(decoded(json.dumps(newer).encode(), 2)) is Admission.NEW
    assert ring.admit(original) is Admission.BEFORE_DEDUPE_HORIZON

    again = with_commit_time(value, now + 1)

    assert ring.admit(decoded(again, 3)) is Admission.NEW
    assert ring.admit(decoded(again, 4)) is Admission.RESENT


@pytest.mark.parametrize("broken", [b"", b"{}", b"[1]", b"\xff"])
def test_a_replay_of_bytes_that_are_no_envelope_raises_malformed(broken: bytes) -> None:
    with pytest.raises(Malformed):
        with_commit_time(broken, 1)
