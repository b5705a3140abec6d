"""Policies and records of every kind that a need or a proposal can meet."""

from typing import Any

from hypothesis import strategies as st

from inventory.facts import ItemLocation
from inventory.model.arithmetic import DAY_US, HOUR_US
from tests.policies.builders import NOW_US, policy

FAMILIES = ["off", "sQ", "sS", "RS", "RsS", "par", "cover"]
PERMILLE = st.integers(0, 1000)
LATER_US = st.one_of(
    st.just(0),
    st.just(1),
    st.integers(0, 9).map(lambda hours: hours * HOUR_US),
    st.integers(0, 5).map(lambda days: days * DAY_US),
)


def units(most: int) -> st.SearchStrategy[int]:
    return st.integers(0, most)


def permilles(most: int, size: int) -> st.SearchStrategy[tuple[int, ...]]:
    return st.lists(st.integers(0, most), max_size=size).map(tuple)


REPLENISHMENT: dict[str, st.SearchStrategy[Any]] = {
    "status": st.sampled_from(["active", "active", "active", "active", "exit"]),
    "replenish_family": st.sampled_from(FAMILIES),
    "levels": st.sampled_from(["fixed", "computed"]),
    "order_quantity_units": st.integers(1, 30),
    "lead_time_centidays": units(900),
    "lead_time_sd_centidays": units(300),
    "review_centidays": units(700),
    "cycle_centidays": units(900),
    "min_cover_centidays": units(900),
    "max_cover_centidays": units(1200),
    "safety_method": st.sampled_from(["fixed", "days", "service"]),
    "safety_stock_units": units(9),
    "safety_centidays": units(300),
    "service_z_micro": units(3_000_000),
    "order_days_mask": units(127),
    "hysteresis_units": st.none() | units(5),
    "initial_rate_micro": st.none() | units(9_000_000),
}
QUANTITY: dict[str, st.SearchStrategy[Any]] = {
    "pack_units": st.integers(1, 12),
    "pack_rounding": st.sampled_from(["up", "down", "threshold"]),
    "round_up_permille": PERMILLE,
    "pallet_packs": units(4),
    "pallet_permille": PERMILLE,
    "moq_units": units(30),
    "max_order_units": st.none() | units(90),
    "capacity_units": st.none() | units(120),
    "guard_days": units(90),
}
PRICE: dict[str, st.SearchStrategy[Any]] = {
    "price_mode": st.sampled_from(["off", "advise", "advise", "auto", "auto"]),
    "regular_minor": st.integers(1, 1500) | st.none(),
    "cost_minor": units(900),
    "margin_permille": units(500),
    "tax_bp": units(2500),
    "ladder_permille": permilles(900, 4),
    "raise_permille": permilles(200, 3),
    "endings": st.lists(units(99), max_size=3).map(tuple),
    "max_step_permille": units(600),
    "max_off_permille": units(900),
    "cap_permille": units(300),
    "lead_minutes": units(90),
    "cooldown_hours": units(200),
    "no_touch_from_us": st.none() | units(30).map(lambda days: NOW_US + days * DAY_US),
    "no_touch_until_us": st.none() | units(9).map(lambda days: NOW_US + days * DAY_US),
    "prior_rule": st.sampled_from(["plain", "progressive"]),
    "scarce_enabled": st.booleans(),
    "trading_windows": st.integers(1, 144),
}


@st.composite
def ranged_items(draw: st.DrawFn) -> ItemLocation:
    """An item whose typed levels keep the limits of domain.md 11.8."""
    columns = {name: draw(values) for name, values in (REPLENISHMENT | QUANTITY | PRICE).items()}
    reorder_point = draw(units(40))
    order_up_to = reorder_point + draw(st.integers(1, 60))
    return policy(reorder_point_units=reorder_point, order_up_to_units=order_up_to, **columns)
