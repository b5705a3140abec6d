"""Builders of the inputs of decisions. Columns that a test omits have their defaults."""

from typing import Any

from inventory.model.arithmetic import DAY_US, HOUR_US, WINDOW_US, half_even
from inventory.model.ids import InvKey, Position
from inventory.model.policy import ItemLocation
from inventory.model.price_timeline import PriceRow
from inventory.model.state import WindowRow
from inventory.pricing.proposals import PricingInputs
from inventory.pricing.signals import RecentSales
from inventory.replenishment.evaluation import ReplenishmentInputs
from inventory.tables.price_change import PriceChange
from inventory.tables.price_decision import PriceDecision
from inventory.tables.reorder_decision import ReorderDecision

KEY = InvKey("L|S")
NOW_US = 20_500 * DAY_US


def policy(**columns: Any) -> ItemLocation:
    shared: dict[str, Any] = {"id": 1, "inv_key": KEY, "replenish_family": "sS"}
    return ItemLocation(**(shared | columns))


def mad_for_sigma(sigma_micro: int) -> int:
    """Return the mean absolute deviation that has this sigma, within a micro-unit."""
    return half_even(sigma_micro * 1_000_000, 1_253_314)


def at(offset: int) -> Position:
    return Position(1, offset)


def stock(base: int, ranged: ItemLocation | None, **more: Any) -> ReplenishmentInputs:
    """Return inputs with base position `base`: as on-hand, or as allocated if `base` is below 0."""
    shared: dict[str, Any] = {
        "policy": ranged,
        "on_hand_units": max(0, base),
        "on_order_units": 0,
        "allocated_units": max(0, -base),
        "stock_known": True,
        "rate_micro": None,
        "mad_micro": None,
        "stream_time_us": NOW_US,
    }
    return ReplenishmentInputs(**(shared | more))


def word(action: str, need: str, **more: Any) -> ReorderDecision:
    shared: dict[str, Any] = {"id": 1, "until_at_us": None, "reason": None}
    return ReorderDecision(reorder_id=need, action=action, **(shared | more))


def price_word(action: str, proposal: str, **more: Any) -> PriceDecision:
    shared: dict[str, Any] = {"id": 1, "until_at_us": None, "reason": None}
    return PriceDecision(proposal_id=proposal, action=action, **(shared | more))


def row(effective_from_us: int, price_minor: int, **more: Any) -> PriceRow:
    shared: dict[str, Any] = {"id": 1, "step": 0, "kind": "manual"}
    return PriceRow(effective_from_us, price_minor=price_minor, **(shared | more))


def written(effective_from_us: int, price_minor: int, **more: Any) -> PriceChange:
    shared: dict[str, Any] = {
        "id": 1,
        "step": 0,
        "kind": "manual",
        "proposal_id": None,
        "floor_minor": 0,
    }
    return PriceChange(
        effective_from_us=effective_from_us, price_minor=price_minor, **(shared | more)
    )


def priced(**columns: Any) -> ItemLocation:
    """Return the policy that the price vectors share: regular 999, floor 750."""
    shared: dict[str, Any] = {
        "replenish_family": "off",
        "price_mode": "advise",
        "regular_minor": 999,
        "cost_minor": 500,
        "tax_bp": 2000,
        "margin_permille": 200,
        "ladder_permille": (150, 300),
        "endings": (49, 99),
    }
    return policy(**(shared | columns))


def sold_recently(units: int) -> RecentSales:
    """Return recent sales of `units` in one window."""
    return RecentSales({0: WindowRow(0, sold_units=units)}, WINDOW_US)


def market(ranged: ItemLocation | None, *, old: int, step: int = 0, **more: Any) -> PricingInputs:
    """Return inputs of a key: 1,000 units on hand, 1 unit sold a day, price `old` for 200 days."""
    shared: dict[str, Any] = {
        "policy": ranged,
        "timeline": (row(NOW_US - 200 * DAY_US, old, step=step),),
        "on_hand_units": 1000,
        "in_transit_units": 0,
        "allocated_units": 0,
        "stock_known": True,
        "observed_days": 14,
        "quiet_windows": 0,
        "rate_micro": 1_000_000,
        "recent_sales": sold_recently(more.pop("sold_last_24h_units", 0)),
        "stream_time_us": NOW_US + HOUR_US,
    }
    return PricingInputs(**(shared | more))
