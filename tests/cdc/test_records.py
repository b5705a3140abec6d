"""Decision, rejection and late records survive the wire."""

import json
from importlib.resources import files

import jsonschema
import pytest

from cdc.contracts import decisions, rejects
from inventory.model.ids import ProposalId, ReorderId
from inventory.model.outputs import PriceOutput, ReorderOutput

AT = decisions.Circumstances("S1|85123A", rejects.Origin(1, 3, 812), 1_795_229_285_100_000, 1)
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
    logic_revision=1,
    commit_us=None,
)
LATE = rejects.Late(rejects.Origin(1, 3, 812), "S1|85123A", -2, -1998, "window_expired", 17)


def schema(name: str) -> dict[str, object]:
    text = files("cdc.contracts").joinpath("schemas", name).read_text(encoding="utf-8")
    loaded: dict[str, object] = json.loads(text)
    return loaded


def test_records_survive_the_wire() -> None:
    assert decisions.decode_reorder(decisions.encode_reorder(REORDER)) == REORDER
    assert decisions.decode_price(decisions.encode_price(PRICE)) == PRICE
    assert rejects.decode_rejection(rejects.encode_rejection(REJECTION)) == REJECTION
    assert rejects.decode_late(rejects.encode_late(LATE)) == LATE


@pytest.mark.parametrize(
    ("name", "payload"),
    [
        ("reorder_event.v1.json", decisions.encode_reorder(REORDER)),
        ("price_event.v1.json", decisions.encode_price(PRICE)),
        ("stock_rejected.v1.json", rejects.encode_rejection(REJECTION)),
        ("stock_late.v1.json", rejects.encode_late(LATE)),
    ],
)
def test_records_fit_their_published_schema(name: str, payload: bytes) -> None:
    jsonschema.validate(json.loads(payload), schema(name))


@pytest.mark.parametrize("change", [{"schema": 2}, {"kind": "price"}, {"status": "lost"}])
def test_a_record_of_another_contract_is_refused(change: dict[str, object]) -> None:
    row = json.loads(decisions.encode_reorder(REORDER)) | change

    with pytest.raises(decisions.NotADecision):
        decisions.decode_reorder(json.dumps(row).encode())


@pytest.mark.parametrize("payload", [b"", b"[]", b"garbage"])
def test_bytes_that_are_no_decision_are_refused(payload: bytes) -> None:
    with pytest.raises(decisions.NotADecision):
        decisions.decode_price(payload)


def test_a_decision_with_a_missing_field_is_refused() -> None:
    row = json.loads(decisions.encode_price(PRICE))
    del row["new_minor"]

    with pytest.raises(decisions.NotADecision, match="new_minor"):
        decisions.decode_price(json.dumps(row).encode())


def test_a_reorder_with_a_missing_field_is_refused() -> None:
    row = json.loads(decisions.encode_reorder(REORDER))
    del row["order_up_to_units"]

    with pytest.raises(decisions.NotADecision, match="order_up_to_units"):
        decisions.decode_reorder(json.dumps(row).encode())


def test_a_rejection_of_another_contract_is_refused() -> None:
    row = json.loads(rejects.encode_rejection(REJECTION)) | {"schema": 2}

    with pytest.raises(ValueError, match="schema must be 1, got 2"):
        rejects.decode_rejection(json.dumps(row).encode())
