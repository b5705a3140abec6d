"""The exchange format of histories, and encoded states."""

import json

import pytest

from cdc.contracts.history import fold_history
from cdc.contracts.history_records import HistoryError
from cdc.contracts.state import (
    decode_level,
    decode_state,
    decode_window,
    encode_level,
    encode_state,
    encode_window,
    window_key,
)
from cdc.contracts.versions import UnknownVersion
from inventory.model.state import with_windows
from inventory.revision import LOGIC_REVISION
from tests.inventory.builders import KEY, Log, at, count, policy, price, sale

RECORD = {
    "offset": 3,
    "table": "sale_line",
    "op": "c",
    "key": KEY,
    "before": None,
    "after": {**sale(1, 2, at("10:00"), amount=10), "recorded_at": at("10:01")},
    "lsn": 5,
    "commit_us": at("10:02"),
}


def test_fold_history_writes_a_line_per_record_and_one_per_key() -> None:
    refused = {**RECORD, "offset": 4, "lsn": 6, "key": "B|1", "op": "x"}

    lines = [json.loads(line) for line in fold_history([json.dumps(RECORD), json.dumps(refused)])]

    assert lines[:2] == [
        {"offset": 3, "verdict": "applied", "late": [], "outputs": []},
        {"offset": 4, "verdict": "rejected:unknown_op", "late": [], "outputs": []},
    ]
    assert [line["key"] for line in lines[2:]] == [KEY]
    assert lines[2]["state"]["on_hand"] == -2
    assert lines[2]["state"]["windows"] == {str(at("10:00")): [2, 0, 1, 0, 10, 0, 0]}
    assert lines[2]["state"]["episode"]["reason"] == "no_policy"


STATE_FIELDS = {
    "on_hand", "unavailable", "on_order", "in_transit", "allocated", "stock_known",
    "sum_movements", "sum_variances", "shrink", "stream_time_us", "windows", "rate", "mad",
    "observed_days", "quiet_windows", "rate_at_last_sale", "B", "s", "S", "episode", "price",
}  # fmt: skip
NEED_FIELDS = {"kind", "id", "revision", "status", "q", "B", "s", "S", "flags", "reason"}
PRICE_FIELDS = {
    "kind", "id", "revision", "status", "old", "new", "step", "signal", "clamps",
    "effective_at_us", "prior", "reason",
}  # fmt: skip


def test_each_line_has_exactly_the_fields_of_the_format() -> None:
    row = {
        **policy(replenish_family="sS", order_up_to_units=9, price_mode="advise"),
        "recorded_at": at("09:00"),
        "regular_minor": 999,
        "cost_minor": 2000,
    }
    counted = {**count(1, 0, at("09:00")), "recorded_at": at("09:00")}
    facts = [("item_location", row), ("stock_count", counted)]
    records = [
        {**RECORD, "offset": place, "lsn": place, "table": table, "after": after}
        for place, (table, after) in enumerate(facts)
    ]

    priced, needed, last = [json.loads(line) for line in fold_history(map(json.dumps, records))]

    assert set(priced) == {"offset", "verdict", "late", "outputs"}
    assert [set(output) for output in priced["outputs"]] == [PRICE_FIELDS]
    assert [set(output) for output in needed["outputs"]] == [NEED_FIELDS]
    assert (set(last), set(last["state"])) == ({"key", "state"}, STATE_FIELDS)
    assert set(last["state"]["episode"]) == {"state", "id", "q", "until_us", "reason"}
    assert set(last["state"]["price"]) == {"in_force", "step", "proposal_id", "proposal_price"}


def test_fold_history_prints_the_keys_after_every_n_records() -> None:
    records = [{**RECORD, "offset": place, "lsn": place} for place in range(5)]

    lines = [json.loads(line) for line in fold_history(map(json.dumps, records), every=2)]

    assert [line.get("at") for line in lines if "key" in line] == [1, 3, None]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "must be a JSON object"),
        ('{"offset": NaN}', "NaN is not JSON"),
        pytest.param("[" * 100_000, "not JSON: maximum recursion depth", id="deep"),
        pytest.param('{"offset": ' + "9" * 5_000 + "}", "not JSON: Exceeds the limit", id="long"),
        (json.dumps({**RECORD, "extra": 1}), "unknown field extra"),
        (json.dumps({"offset": 1}), "missing field commit_us, key, lsn, op, table"),
        (json.dumps({**RECORD, "offset": "3"}), "offset must be an integer"),
        (json.dumps({**RECORD, "op": 1}), "op must be a text"),
        (json.dumps(RECORD), "offsets must rise"),
    ],
)
def test_an_invalid_history_line_is_reported_by_its_number(line: str, reason: str) -> None:
    with pytest.raises(HistoryError, match=f"line 2: .*{reason}"):
        list(fold_history([json.dumps(RECORD), line]))


def test_a_number_with_thousands_of_digits_rejects_only_its_record() -> None:
    row = policy(initial_rate_micro=10**10, replenish_family="sS", levels="computed")
    long = {**row, "recorded_at": at("09:00"), "lead_time_centidays": 10**4_299}
    records = [{**RECORD, "table": "item_location", "after": long}, {**RECORD, "offset": 9}]

    lines = [json.loads(line) for line in fold_history(map(json.dumps, records))]

    assert [line["verdict"] for line in lines[:2]] == ["rejected:overflow", "applied"]


def written() -> Log:
    log = Log(commit_us=at("09:00"))
    log.insert(
        "item_location",
        policy(
            replenish_family="sS",
            order_up_to_units=9,
            price_mode="advise",
            regular_minor=999,
            cost_minor=2000,
        ),
    )
    log.insert("stock_count", count(1, 3, at("08:00")))
    log.insert("price_change", price(1, 999, at("08:00")))
    log.insert("sale_line", sale(1, 3, at("10:00")), commit=at("10:00:01"))
    log.insert("sale_line", sale(2, 1, at("10:10")), commit=at("10:30:01"))
    return log  # fmt: skip


def test_a_state_is_equal_after_encoding_and_decoding() -> None:
    state = written().state

    again = decode_state(encode_state(state))

    assert state.episode.last_output is not None
    assert state.price_episode.last_output is not None
    assert again == state
    assert encode_state(again) == encode_state(state)


def test_a_level_and_its_window_rows_restore_the_whole_state() -> None:
    state = written().state
    starts = sorted(state.windows)

    level, dropped = decode_level(encode_level(state, [starts[-1], 600_000_000]))
    key, row, position = decode_window(encode_window(KEY, state.windows[starts[0]], state.position))

    assert (list(level.windows), dropped) == ([starts[-1]], (600_000_000,))
    assert (key, position) == (KEY, state.position)
    assert with_windows(level, {**level.windows, row.start_us: row}) == state
    assert window_key(KEY, 600_000_000) == b"LONDON|85123A@600000000"


def test_decoding_a_state_of_another_logic_revision_fails() -> None:
    content = encode_state(written().state)
    with pytest.raises(UnknownVersion, match="logic_revision"):
        decode_state(
            content.replace(b'"logic_revision":%d' % LOGIC_REVISION, b'"logic_revision":9')
        )
