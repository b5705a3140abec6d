"""Needs that a buyer should look at: both sides of each boundary."""

from typing import Any

import pytest

from inventory.replenishment import attention
from inventory.replenishment.attention import NeedFacts, urgency

ROUTINE: dict[str, Any] = {
    "supplier": "ACME",
    "is_supplier_active": True,
    "on_hand_units": 0,
    "is_phantom_suspect": False,
    "quantity_units": 12,
    "pack_units": 6,
    "cost_minor": 100,
    "auto_max_minor": 1_200,
}


def codes(**changed: object) -> tuple[str, ...]:
    return attention.attention(NeedFacts(**{**ROUTINE, **changed}))


def test_a_routine_need_has_no_code() -> None:
    assert codes() == codes(auto_max_minor=0) == codes(on_hand_units=None) == ()


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"supplier": None}, attention.NO_SUPPLIER),
        ({"supplier": ""}, attention.NO_SUPPLIER),
        ({"is_supplier_active": False}, attention.SUPPLIER_INACTIVE),
        ({"on_hand_units": -1}, attention.BELOW_ZERO),
        ({"is_phantom_suspect": True}, attention.MAYBE_MISSING),
        ({"pack_units": 5, "auto_max_minor": 0}, attention.ODD_UNITS),
        ({"auto_max_minor": 1_199}, attention.ABOVE_LIMIT),
        ({"flags": ("cover_over_guard",)}, "cover_over_guard"),
    ],
)
def test_each_cause_has_its_code_and_a_sentence(changed: dict[str, object], code: str) -> None:
    assert codes(**changed) == (code,)
    assert attention.SENTENCES[code]


def test_codes_come_in_fixed_order_and_flags_last() -> None:
    found = codes(supplier=None, on_hand_units=-1, flags=("no_demand_history",))

    assert found == (attention.NO_SUPPLIER, attention.BELOW_ZERO, "no_demand_history")


@pytest.mark.parametrize(
    ("available_units", "cover_centidays", "expected"),
    [
        (0, 0, attention.SOLD_OUT),
        (-1, 0, attention.SOLD_OUT),
        (1, 699, attention.RUNS_OUT),
        (1, 700, attention.LOW),
        (0, None, attention.LOW),
    ],
)
def test_urgency_compares_cover_with_the_lead_time(
    available_units: int, cover_centidays: int | None, expected: int
) -> None:
    found = urgency(
        available_units=available_units, cover_centidays=cover_centidays, lead_time_centidays=700
    )

    assert found == expected
    assert expected in attention.URGENCIES
