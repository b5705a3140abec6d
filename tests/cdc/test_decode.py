"""The strict parser of change events."""

import json
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cdc.contracts.decode import TIMESTAMP_COLUMNS, Malformed, decode, timestamp_us
from cdc.contracts.topics import CAPTURED
from inventory.fold.partition import Partition

SALE = {
    "id": 7,
    "inv_key": "S1|A",
    "source": "till",
    "source_ref": "1",
    "quantity_units": 1,
    "amount_minor": 5,
    "occurred_at": "2026-11-21T02:48:05.032085Z",
}


def envelope(**changes: object) -> dict[str, object]:
    """Return a change event of a sale. `changes` replace top-level fields."""
    return {
        "before": None,
        "after": {
            "id": 7,
            "inv_key": "S1|A",
            "occurred_at": "2026-11-21T02:48:05.032085Z",
        },
        "source": {
            "table": "sale_line",
            "lsn": 900,
            "ts_us": 1_795_229_285_100_000,
            "txId": 1,
        },
        "op": "c",
    } | changes


def payload(**changes: object) -> bytes:
    return json.dumps(envelope(**changes)).encode()


def test_a_change_event_becomes_a_record_with_integer_times() -> None:
    record = decode(b"S1|A", payload(), offset=42)

    assert (record.offset, record.key, record.table, record.op) == (
        42,
        "S1|A",
        "sale_line",
        "c",
    )
    assert (record.lsn, record.commit_us, record.before) == (
        900,
        1_795_229_285_100_000,
        None,
    )
    assert record.after == {
        "id": 7,
        "inv_key": "S1|A",
        "occurred_at": 1_795_229_285_032_085,
    }


def test_unknown_columns_tables_and_ops_pass_through_to_the_rules() -> None:
    source = {"table": "weather", "lsn": None, "ts_us": 5}

    record = decode(b"k", payload(op="x", source=source, after={"id": 1, "wind": 3}), offset=0)

    assert (record.table, record.op, record.lsn) == ("weather", "x", None)
    assert record.after == {"id": 1, "wind": 3}


@pytest.mark.parametrize(
    ("value", "part"),
    [
        (None, "tombstone"),
        (b"", "not JSON"),
        (b"\x00\xff garbage", "not JSON"),
        (payload()[:-20], "not JSON"),
        (payload().replace(b"900", b"NaN"), "not JSON"),
        (payload().replace(b"900", b"1e400"), "not JSON"),
        (b"[]", "list"),
        (b"null", "NoneType"),
        (json.dumps({"schema": {}, "payload": envelope()}).encode(), "schemas.enable"),
        (payload(source=None), "source"),
        (payload(op=None), "op"),
        (payload(source={"table": "sale_line", "lsn": 1}), "ts_us"),
        (payload(source={"table": "sale_line", "lsn": True, "ts_us": 1}), "lsn"),
        (payload(source={"table": "sale_line", "lsn": 1.0, "ts_us": 1}), "lsn"),
        (payload(source={"table": "sale_line", "lsn": -1, "ts_us": 1}), "lsn"),
        (payload(source={"table": "sale_line", "lsn": 1, "ts_us": "1"}), "ts_us"),
        (payload(source={"table": "sale_line", "lsn": 1, "ts_us": 2**53}), "ts_us"),
        (payload(source={"table": "sale_line", "lsn": 1, "ts_us": -(2**53)}), "ts_us"),
        (payload(source={"table": None, "lsn": 1, "ts_us": 1}), "source.table"),
    ],
)
def test_a_change_event_without_identity_is_malformed_with_a_reason(
    value: bytes | None, part: str
) -> None:
    with pytest.raises(Malformed) as caught:
        decode(b"S1|A", value, offset=0)

    assert part in caught.value.detail


# The deepest nesting that the parser accepts. Python's `repr` of it exceeds the recursion limit.
DEEP = b"[" * 1_000 + b"]" * 1_000


@pytest.mark.parametrize("place", [b'"sale_line"', b"900", b"1795229285100000", b'"c"'])
def test_deeply_nested_json_in_an_identity_field_is_malformed(place: bytes) -> None:
    assert place in payload()

    with pytest.raises(Malformed):
        decode(b"S1|A", payload().replace(place, DEEP, 1), offset=0)


@pytest.mark.parametrize(
    ("place", "verdict"),
    [
        (b'"2026-11-21T02:48:05.032085Z"', "rejected:limit"),
        (b'"S1|A"', "rejected:key_mismatch"),
        (b"7", "rejected:malformed"),
    ],
)
def test_deeply_nested_json_in_a_column_rejects_only_its_record(place: bytes, verdict: str) -> None:
    after = {**SALE, "recorded_at": "2026-11-21T02:48:06Z"}
    assert place in payload(after=after)

    record = decode(b"S1|A", payload(after=after).replace(place, DEEP, 1), offset=0)

    assert Partition(1).apply(record).verdict == verdict


def test_a_missing_or_undecodable_key_is_never_decoded_to_a_valid_key() -> None:
    assert decode(None, payload(), offset=0).key == ""
    assert not decode(b"S1|\xff", payload(), offset=0).key.isprintable()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("1970-01-01T00:00:00.000001Z", 1),
        ("2026-11-21T02:48:05.5Z", 1_795_229_285_500_000),
        ("1969-12-31T23:59:59.999999Z", -1),
        ("9999-12-31T23:59:59.999999Z", 253_402_300_799_999_999),
    ],
)
def test_iso_text_becomes_exact_microseconds(text: str, expected: int) -> None:
    assert timestamp_us(text) == expected


@pytest.mark.parametrize(
    "text",
    ["", "yesterday", "2026-11-21", "2026-11-21T02:48:05", "2026-11-21T02:48:05+01:00",
     "2026-02-30T00:00:00Z", "+12026-11-21T02:48:05Z", 1_795_229_285, 1.5, True, [], {}],
)  # fmt: skip
def test_an_invalid_utc_timestamp_is_passed_on_as_text(text: object) -> None:
    assert isinstance(timestamp_us(text), str)


@given(st.datetimes())
def test_every_postgres_time_survives_without_rounding(moment: datetime) -> None:
    text = f"{moment.isoformat()}Z"

    micros = timestamp_us(text)

    assert isinstance(micros, int)
    assert micros % 1_000_000 == moment.microsecond


@given(st.binary(max_size=200))
def test_no_bytes_crash_the_parser(value: bytes) -> None:
    try:
        record = decode(b"S1|A", value, offset=0)
    except Malformed:
        return

    assert record.key == "S1|A"


def test_every_captured_table_has_its_recording_time_converted() -> None:
    assert all("recorded_at" in columns for columns in TIMESTAMP_COLUMNS.values())
    assert [*TIMESTAMP_COLUMNS] == [*CAPTURED]
