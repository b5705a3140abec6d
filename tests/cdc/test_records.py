"""Decoded records of decisions, rejections and late sales equal the encoded ones."""

import json
from collections.abc import Callable
from importlib.resources import files
from types import SimpleNamespace

import jsonschema
import pytest

from cdc.contracts import answers, decisions, rejects, versions
from cdc.contracts.state import (
    decode_level,
    decode_state,
    decode_window,
    encode_level,
    encode_state,
    encode_window,
)
from cdc.contracts.versions import UnknownVersion, UnreadableRecord, with_position
from inventory.model.ids import InvKey, Position, ProposalId, ReorderId
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.state import KeyState, WindowRow
from inventory.revision import LOGIC_REVISION

AT = decisions.DecisionContext(
    "S1|85123A", rejects.Origin(1, 3, 812), 1_795_229_285_100_000, LOGIC_REVISION
)
REORDER = decisions.ReorderEvent(
    ReorderOutput(
        id=ReorderId("R:S1|85123A:1-812"),
        revision=2,
        status="open",
        quantity_units=24,
        base_position_units=5,
        reorder_point_units=6,
        order_up_to_units=30,
        flags=("review",),
        reason=None,
        terms=(("need", 25), ("pack", None)),
    ),
    supplier="ACME",
    cost_minor=120,
    at=AT,
)
PRICE = decisions.PriceEvent(
    PriceOutput(
        id=ProposalId("P:S1|85123A:1-812"),
        revision=1,
        status="open",
        old_minor=1000,
        new_minor=900,
        step=1,
        signal="idle",
        clamps=("floor",),
        effective_at_us=1_795_229_400_000_000,
        prior_minor=None,
        reason=None,
        floor_minor=700,
        regular_minor=1000,
        terms=(("target", 880),),
    ),
    at=AT,
)
REJECTION = rejects.Rejection(
    origin=rejects.Origin(1, 3, 812),
    topic="stock.events",
    reason="malformed",
    stage="decode",
    detail="tombstone \udcff",
    key=b"S1|\xff",
    value=None,
    logic_revision=LOGIC_REVISION,
    commit_us=None,
)
STATE = KeyState(InvKey("S1|85123A"), Position(1, 812))
ROW = WindowRow(600_000_000, sold_units=2, sale_lines=1, moves={600_000_000: -2})
LATE = rejects.Late(rejects.Origin(1, 3, 812), "S1|85123A", -2, -1998, "window_expired", 17)


def schema(name: str) -> dict[str, object]:
    text = files("cdc.contracts").joinpath("schemas", name).read_text(encoding="utf-8")
    loaded: dict[str, object] = json.loads(text)
    return loaded


def test_decoded_records_equal_the_encoded_ones() -> None:
    assert decisions.decode_reorder(decisions.encode_reorder(REORDER)) == REORDER
    assert decisions.decode_price(decisions.encode_price(PRICE)) == PRICE
    assert rejects.decode_rejection(rejects.encode_rejection(REJECTION)) == REJECTION
    assert rejects.decode_late(rejects.encode_late(LATE)) == LATE


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("reorder_event", decisions.encode_reorder(REORDER)),
        ("price_event", decisions.encode_price(PRICE)),
        ("stock_rejected", rejects.encode_rejection(REJECTION)),
        ("stock_late", rejects.encode_late(LATE)),
    ],
)
def test_records_fit_their_published_schema(kind: str, payload: bytes) -> None:
    newest = versions.known(kind)[-1]

    jsonschema.validate(json.loads(payload), schema(f"{kind}.v{newest}.json"))


@pytest.mark.parametrize("change", [{"kind": "price"}, {"status": "lost"}])
def test_a_record_of_another_contract_is_refused(change: dict[str, object]) -> None:
    row = json.loads(decisions.encode_reorder(REORDER)) | change

    with pytest.raises(decisions.NotADecision):
        decisions.decode_reorder(json.dumps(row).encode())


READERS = {
    "reorder_event": (decisions.decode_reorder, decisions.encode_reorder(REORDER)),
    "price_event": (decisions.decode_price, decisions.encode_price(PRICE)),
    "stock_rejected": (rejects.decode_rejection, rejects.encode_rejection(REJECTION)),
    "stock_late": (rejects.decode_late, rejects.encode_late(LATE)),
    "state": (decode_state, encode_state(STATE)),
    "level": (decode_level, encode_level(STATE, [])),
    "window": (decode_window, encode_window(STATE.inv_key, ROW, STATE.position)),
}
Reader = Callable[[bytes], object]


@pytest.mark.parametrize(("read", "_written"), READERS.values(), ids=READERS)
@pytest.mark.parametrize(
    "payload",
    [b"", b"[]", b"garbage", b"\xff", pytest.param(b'{"kind":' + b"[" * 99_999, id="deep")],
)
def test_bytes_that_are_no_record_are_refused(
    read: Reader, _written: bytes, payload: bytes
) -> None:
    with pytest.raises(UnreadableRecord) as refused:
        read(payload)

    assert not isinstance(refused.value, UnknownVersion)


@pytest.mark.parametrize(("read", "written"), READERS.values(), ids=READERS)
@pytest.mark.parametrize("version", [0, 99, True, "1", None])
def test_a_record_of_an_unknown_version_is_refused_with_the_known_versions(
    read: Reader, written: bytes, version: object
) -> None:
    row = json.loads(written) | {"schema": version}

    with pytest.raises(UnknownVersion, match=f"schema {version!r} is unknown here; known: 1"):
        read(json.dumps(row).encode())


@pytest.mark.parametrize("kind", READERS)
def test_a_released_version_of_one_kind_is_read_only_by_that_kinds_reader(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(versions, "_RELEASED", {kind: (1, 2)})

    for name, (read, written) in READERS.items():
        newer = json.dumps(json.loads(written) | {"schema": 2}).encode()
        if name == kind:
            assert read(newer) is not None
        else:
            with pytest.raises(UnknownVersion, match=f"{name} record: schema 2 is unknown here"):
                read(newer)


@pytest.mark.parametrize("name", ["state", "level", "window"])
def test_state_of_another_logic_revision_is_refused(name: str) -> None:
    (read, written), ours = READERS[name], LOGIC_REVISION

    with pytest.raises(UnknownVersion, match=f"logic_revision 9 is unknown here; known: {ours}"):
        read(json.dumps(json.loads(written) | {"logic_revision": 9}).encode())


@pytest.mark.parametrize(("read", "written"), READERS.values(), ids=READERS)
def test_a_record_without_one_of_its_fields_is_refused(read: Reader, written: bytes) -> None:
    row = json.loads(written)
    del row["inv_key" if "inv_key" in row else "reason"]

    with pytest.raises(UnreadableRecord, match=r"inv_key|reason"):
        read(json.dumps(row).encode())


def test_a_long_rejected_record_is_truncated_with_a_note() -> None:
    short, long = b"x" * rejects.MOST_BYTES, b"x" * (rejects.MOST_BYTES + 1)

    assert rejects.truncated(None, "limit") == (None, "limit")
    assert rejects.truncated(short, "limit") == (short, "limit")
    content, detail = rejects.truncated(long, "limit")
    assert content == short
    assert detail.endswith(f"(first {len(short)} of {len(long)} bytes kept here)")


def test_an_answer_carries_the_version_of_its_schema() -> None:
    newest = versions.known(answers.PROBLEM)[-1]

    assert answers.versioned(answers.PROBLEM, {"x": 1}) == {"schema": newest, "x": 1}


def test_the_reader_of_a_topic_adds_the_position_to_the_error() -> None:
    record = SimpleNamespace(topic="some.topic", partition=3, offset=812)

    with pytest.raises(UnknownVersion) as refused, with_position(record):
        decode_state(b'{"schema":7}')

    expected = "some.topic[3]@812: state record: schema 7 is unknown here; known: 1"
    assert str(refused.value) == expected


def test_a_readable_record_raises_no_error() -> None:
    with with_position(SimpleNamespace(topic="some.topic", partition=3, offset=812)):
        pass
