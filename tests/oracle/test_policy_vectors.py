"""The tables of levels, quantities and prices, against the reference model."""

from typing import Any

import pytest

from tests.oracle.arithmetic import DAY, MINUTE, SECOND, ceil, half_even
from tests.oracle.builders import at
from tests.oracle.columns import POLICY
from tests.oracle.levels import levels_of, quantity_of, span
from tests.oracle.prices import Price, prior_price
from tests.oracle.pricing import Inputs, candidate_of, floor_price, signal_of, start_of

MICRO = 1_000_000
DEFAULTS = {name: column.default for name, column in POLICY.items()}

SERVICE = {"levels": "computed", "safety_method": "service", "service_z_micro": 1_644_854}
LEVELS = [
    ("V1", "sS", 20, 6, {"lead": 500, "lead_sd": 100, "cycle": 700}, (40, 140, 280)),
    (
        "V2",
        "sS",
        20,
        6,
        {"lead": 500, "lead_sd": 100, "cycle": 700, "z": 2_326_348},
        (57, 157, 297),
    ),
    ("V3", "RS", 20, 6, {"lead": 500, "lead_sd": 100, "review": 700}, (48, 287, 288)),
    ("V4", "RsS", 20, 6, {"lead": 500, "lead_sd": 100, "review": 700}, (48, 288, 428)),
    ("V6", "sS", 8, 0, {"lead": 1000, "lead_sd": 250, "lot": 40}, (33, 113, 153)),
    ("V7", "sQ", 10, 0, {"lead": 500}, (0, 50, None)),
]
NAMES = {
    "lead": "lead_time_centidays",
    "lead_sd": "lead_time_sd_centidays",
    "lot": "order_quantity_units",
    "cycle": "cycle_centidays",
    "review": "review_centidays",
    "z": "service_z_micro",
}


@pytest.mark.parametrize("vector", LEVELS, ids=[vector[0] for vector in LEVELS])
def test_the_levels_table(vector: Any) -> None:
    _, family, d, sigma, terms, expected = vector
    row = {**DEFAULTS, **SERVICE, "replenish_family": family}
    row |= {NAMES[name]: value for name, value in terms.items()}
    found = levels_of(row, d * MICRO, mad_for(sigma * MICRO))
    assert found is not None
    assert (found.safety, found.s, found.upto) == expected


def mad_for(sigma: int) -> int:
    """The deviation whose sigma comes nearest to the given one."""
    return half_even(sigma * 10**6, 1_253_314)


def levels_with(d: int, sigma: int = 0, **row: Any) -> tuple[int, int, int | None]:
    found = levels_of({**DEFAULTS, "levels": "computed", **row}, d, mad_for(sigma))
    assert found is not None
    return found.safety, found.s, found.upto


def test_the_other_levels_of_the_table() -> None:
    lead = {"replenish_family": "sS", "lead_time_centidays": 400, "cycle_centidays": 1400}
    assert levels_with(300_000, 550_000, **SERVICE, **lead) == (2, 4, 9)
    lot = {"replenish_family": "sQ", "lead_time_centidays": 500, "order_quantity_units": 1}
    assert levels_with(10_000_001, 0, **SERVICE, **lot)[1] == 51
    cover = {"replenish_family": "cover", "min_cover_centidays": 500, "max_cover_centidays": 1200}
    assert levels_with(1_250_000, 0, **cover)[1:] == (7, 15)
    base = {"replenish_family": "sS", "lead_time_centidays": 500, "cycle_centidays": 700}
    days = {"safety_method": "days", "safety_centidays": 300}
    assert levels_with(20 * MICRO, 0, **base, **days) == (60, 160, 300)
    assert levels_with(0, 0, **base, safety_stock_units=4) == (4, 4, 5)
    assert span(10_000_001, 500) == 51


P12 = {"pack_units": 12}
DOWN = {**P12, "pack_rounding": "down"}
NEAR = {**P12, "pack_rounding": "threshold"}
PALLET = {**P12, "pallet_packs": 10, "pallet_permille": 900}
QUANTITIES = [
    ("Q1", 128, 140, 816, P12, 688, 696),
    ("Q2", 140, 140, 816, P12, 676, 684),
    ("Q3", 0, 10, 40, {"pack_units": 6}, 40, 42),
    ("Q4", -6, 5, 20, {}, 26, 26),
    ("Q5", 20, 20, 40, DOWN, 20, 12),
    ("Q6", 20, 20, 27, DOWN, 7, 12),
    ("Q7", 0, 5, 18, NEAR, 18, 24),
    ("Q8", 0, 5, 17, NEAR, 17, 12),
    ("Q9", 0, 4, 5, NEAR, 5, 12),
    ("Q10", 0, 5, 20, {**P12, "moq_units": 50}, 20, 60),
    ("Q11", 0, 5, 20, {**P12, "moq_units": 50, "max_order_units": 55}, 20, None),
    ("Q12", 0, 20, 150, {**P12, "max_order_units": 100}, 150, 96),
    ("Q13", 30, 30, 60, {**P12, "capacity_units": 40}, 30, None),
    ("Q14", 30, 30, 80, {**P12, "capacity_units": 60}, 50, 24),
    ("Q17", 0, 5, 105, PALLET, 105, 120),
    ("Q18", 0, 5, 96, PALLET, 96, 96),
    ("Q19", 5, 5, 6, {}, 1, 1),
]


@pytest.mark.parametrize("vector", QUANTITIES, ids=[vector[0] for vector in QUANTITIES])
def test_the_quantity_table(vector: Any) -> None:
    _, b, s, upto, more, n, q = vector
    typed = {"replenish_family": "sS", "reorder_point_units": s, "order_up_to_units": upto}
    row = {**DEFAULTS, **typed, **more}
    levels = levels_of(row, 0, 0)
    assert levels is not None
    found = quantity_of(row, levels, b, MICRO)
    assert (found.need, found.q) == (n, q)


def test_fixed_lots_and_the_guard() -> None:
    lots = {"replenish_family": "sQ", "reorder_point_units": 30, "order_quantity_units": 24}
    row = {**DEFAULTS, **lots}
    levels = levels_of(row, 0, 0)
    assert levels is not None
    assert [quantity_of(row, levels, b, MICRO).q for b in (6, 7)] == [48, 24]
    for upto, flags in ((200, ("cover_over_guard",)), (180, ())):
        typed = {"replenish_family": "sS", "reorder_point_units": 50, "order_up_to_units": upto}
        levels = levels_of({**DEFAULTS, **typed}, 0, 0)
        assert levels is not None
        assert quantity_of({**DEFAULTS, **typed}, levels, 20, 2 * MICRO).flags == flags


PRICED = {
    **DEFAULTS,
    "status": "active",
    "price_mode": "advise",
    "regular_minor": 999,
    "cost_minor": 500,
    "tax_bp": 2000,
    "margin_permille": 200,
    "ladder_permille": [150, 300],
    "endings": [49, 99],
}
NOW = at(10, 3, 20)
OVER, RESTORE, SCARCE = (300, 5, 0), (10, 5, 0), (14, 5, 8)
PRICES = [
    ("P1", OVER, 999, 0, {}, 849, ""),
    ("P2", OVER, 999, 0, {"endings": [99]}, 899, "ending_up"),
    ("P3", OVER, 799, 1, {"endings": [99]}, None, "floor,ending_up"),
    ("P4", OVER, 849, 1, {"endings": []}, 750, "floor"),
    ("P5", OVER, 999, 0, {"cost_minor": 600}, 949, "floor,ending_up"),
    ("P6", OVER, 999, 2, {}, None, "ladder_end"),
    ("P7", RESTORE, 849, 1, {}, 999, ""),
    ("P8", RESTORE, 1049, -1, {}, 999, ""),
    ("P9", SCARCE, 999, 0, {"raise_permille": [50, 100]}, 1049, "ending_up"),
    ("P10", SCARCE, 1048, -1, {"raise_permille": [50, 150], "endings": []}, 1098, "ceiling"),
    ("P11", RESTORE, 999, 0, {"cost_minor": 800}, 1249, "floor"),
    (
        "P12",
        OVER,
        999,
        0,
        {"ladder_permille": [400], "endings": [99]},
        899,
        "floor,max_step,ending_up",
    ),
    (
        "P13",
        OVER,
        999,
        0,
        {"ladder_permille": [600], "cost_minor": 100, "max_step_permille": 1000},
        549,
        "max_off,ending_up",
    ),
]


def inputs_of(stock: tuple[int, int, int], old: int, k: int, more: dict[str, Any]) -> Inputs:
    on_hand, d, sold = stock
    return Inputs(
        policy={**PRICED, "scarce_enabled": sold > 0, **more},
        timeline=[Price(at(0, days=-60), 1, old, k, "initial")],
        on_hand=on_hand,
        in_transit=0,
        allocated=0,
        stock_known=True,
        observed_days=14,
        quiet_windows=0,
        d=d * MICRO,
        sold_last_24h=sold,
        stream=NOW,
    )


@pytest.mark.parametrize("vector", PRICES, ids=[vector[0] for vector in PRICES])
def test_the_price_table(vector: Any) -> None:
    _, stock, old, k, more, price, clamps = vector
    found = candidate_of(inputs_of(stock, old, k, more))
    if isinstance(found, str):
        assert (price, clamps) == (None, found)
    else:
        assert (found.new, ",".join(found.clamps)) == (price, clamps)


def test_floors_and_the_lead_time() -> None:
    assert floor_price({**PRICED, "cost_minor": 333, "margin_permille": 250, "tax_bp": 700}) == 476
    assert floor_price({**PRICED, "cost_minor": 1000, "margin_permille": 0, "tax_bp": 0}) == 1000
    inputs = inputs_of(OVER, 999, 0, {})
    assert start_of(inputs).effective_at == at(10, 40)
    assert ceil(at(10, 10) + 30 * MINUTE, 600 * SECOND) * 600 * SECOND == at(10, 40)


def test_the_30_day_prior_price() -> None:
    february, march = at(0, days=0), at(0, days=28)
    rows = [
        Price(february - 120 * DAY, 1, 999, 0, "initial"),
        Price(february + 9 * DAY, 2, 799, 1, "rule"),
        Price(february + 16 * DAY, 3, 999, 0, "rule"),
    ]
    assert prior_price(rows, march + 17 * DAY, "plain") == 799
    assert prior_price(rows, march + 18 * DAY, "plain") == 999


@pytest.mark.parametrize(
    ("stock", "signal"),
    [((300, 5, 0), "overstock"), ((280, 5, 0), None), ((14, 5, 8), "scarce"), ((14, 5, 7), None)],
)
def test_the_edges_of_overstock_and_scarce(stock: Any, signal: str | None) -> None:
    inputs = inputs_of(stock, 999, 0, {"scarce_enabled": True})
    found = signal_of(inputs, start_of(inputs))
    assert (None if found is None else found[0]) == signal
