"""The last steps of a fold: levels, replenishment and pricing after a record (domain.md 11.1)."""

from typing import Final

from inventory.fold.clock import raises_review
from inventory.log.validation import Change
from inventory.model.fact import Fact
from inventory.model.outputs import Output
from inventory.model.policy import ItemLocation
from inventory.model.state import Demand, KeyState, Stock, with_episodes
from inventory.model.windows import evaluation_us
from inventory.pricing.proposals import PricingInputs, PricingTrigger, next_proposal
from inventory.pricing.signals import RecentSales
from inventory.replenishment.evaluation import ReplenishmentInputs
from inventory.replenishment.levels import Levels, levels
from inventory.replenishment.needs import base_position_units, inactive_reason, next_episode
from inventory.replenishment.transitions import ABOVE_REORDER_POINT, IDLE
from inventory.replenishment.triggers import ReplenishmentTrigger
from inventory.tables.item_location import (
    DEMAND_COLUMNS,
    PRICE_COLUMNS,
    QUANTITY_COLUMNS,
    REPLENISHMENT_COLUMNS,
)
from inventory.tables.price_change import PriceChange
from inventory.tables.price_decision import PriceDecision
from inventory.tables.purchase_order_line import PurchaseOrderLine
from inventory.tables.reorder_decision import ReorderDecision
from inventory.tables.shipment_line import ShipmentLine

NEED_COLUMNS: Final = ("status", *DEMAND_COLUMNS, *REPLENISHMENT_COLUMNS, *QUANTITY_COLUMNS)
PROPOSAL_COLUMNS: Final = ("cost_minor", *PRICE_COLUMNS)

_NO_PRICING = PricingTrigger()
_EVALUATE = PricingTrigger(evaluate=True)
_NO_TRIGGER = ReplenishmentTrigger()
_NOTHING: Final[tuple[Output, ...]] = ()

# Rows of these tables can change a need even if the base position B stays the same. They answer a
# need, decide on it, raise `reviewed_at` or change a replenishment column. Rows of other tables
# change a need only through B.
_NEED_FACTS = (ItemLocation, PurchaseOrderLine, ShipmentLine, ReorderDecision)


def levels_after(
    before: KeyState, policy: ItemLocation | None, demand: Demand
) -> tuple[int, int | None, int | None]:
    """Return safety stock SS, reorder point s and order-up-to level S after the record.

    All three depend only on policy and demand (domain.md 5.1). If policy and demand are unchanged,
    the result is the old levels.
    """
    if policy is before.policy and demand is before.demand:
        return before.safety_stock_units, before.reorder_point_units, before.order_up_to_units
    level = levels(policy, demand.rate_micro, demand.mad_micro)
    return level.safety_stock_units, level.reorder_point_units, level.order_up_to_units


def decide(
    before: KeyState, after: KeyState, change: Change
) -> tuple[KeyState, tuple[Output, ...]]:
    """Return the state after the decisions about need and price, and the outputs of both.

    There are at most two outputs: first the need's, then the price proposal's. A row of Debezium's
    snapshot (op `r`) causes no decision, nor does a record of a key without stream time (domain.md
    2.2, 11.3).
    """
    now_us = after.stream_time_us
    if change.op == "r" or now_us is None:
        return after, ()
    episode, outputs = after.episode, _NOTHING
    if _may_need(after, change):
        episode, reorder = next_episode(
            after.inv_key,
            after.position,
            episode,
            _replenishment_inputs(after, now_us),
            _replenishment_trigger(change),
        )
        outputs = _NOTHING if reorder is None else (reorder,)
    price_episode = after.price_episode
    trigger = _pricing_trigger(before, after, change) if _is_priced(after, change) else _NO_PRICING
    if price_episode.id is not None or trigger is not _NO_PRICING:
        price_episode, price = next_proposal(
            after.inv_key,
            after.position,
            price_episode,
            pricing_inputs(after, now_us),
            trigger,
        )
        outputs = outputs if price is None else (*outputs, price)
    if episode is after.episode and price_episode is after.price_episode:
        return after, outputs
    return with_episodes(after, episode, price_episode), outputs


def base_position(stock: Stock, policy: ItemLocation | None) -> int:
    """Return the base position B = max(0, on-hand) + max(0, on-order) - allocated."""
    allocated = 0 if policy is None else policy.allocated_units
    return base_position_units(stock.on_hand_units, stock.on_order_units, allocated)


def _may_need(state: KeyState, change: Change) -> bool:
    """Return True if the record can change the episode, the state of the key's need.

    The check saves time (domain.md 5.3). An idle key whose base position is above its reorder point
    stays idle after most records. A `reorder_decision` row can change even an idle episode. If the
    row names another need and its action isn't `approve`, the episode counts a stale decision.
    """
    episode = state.episode
    if episode.state != IDLE or isinstance(change.after, ReorderDecision):
        return True
    reason = inactive_reason(state.policy, stock_known=state.stock.is_counted)
    if reason:
        return episode.reason != reason
    reorder_point = state.reorder_point_units or 0
    return episode.reason != ABOVE_REORDER_POINT or state.base_position_units <= reorder_point


def _replenishment_inputs(state: KeyState, now_us: int) -> ReplenishmentInputs:
    stock, demand = state.stock, state.demand
    return ReplenishmentInputs(
        state.policy,
        stock.on_hand_units,
        stock.on_order_units,
        state.allocated_units,
        stock.is_counted,
        demand.rate_micro,
        demand.mad_micro,
        now_us,
        Levels(state.safety_stock_units, state.reorder_point_units, state.order_up_to_units),
    )


def _replenishment_trigger(change: Change) -> ReplenishmentTrigger:
    before, after = change.before, change.after
    if not isinstance(after, _NEED_FACTS):
        return _NO_TRIGGER
    answered_id = _reorder_id(after)
    is_first = answered_id is not None and answered_id != _reorder_id(before)
    inserted = change.op == "c"
    return ReplenishmentTrigger(
        answered_ids=(answered_id,) if is_first and answered_id is not None else (),
        decision=after if inserted and isinstance(after, ReorderDecision) else None,
        reviewed=raises_review(before, after),
        columns_changed=_differ(before, after, NEED_COLUMNS),
    )


def _reorder_id(fact: Fact | None) -> str | None:
    """Return the id of the need that a row answers, or None."""
    if isinstance(fact, PurchaseOrderLine):
        return fact.reorder_id
    if isinstance(fact, ShipmentLine) and fact.leg == "transfer_in":
        return fact.reorder_id
    return None


def _differ(before: Fact | None, after: Fact | None, columns: tuple[str, ...]) -> bool:
    """Return True if an update changed one of `columns` of the policy."""
    if not isinstance(before, ItemLocation) or not isinstance(after, ItemLocation):
        return False
    return any(getattr(before, column) != getattr(after, column) for column in columns)


def _is_priced(state: KeyState, change: Change) -> bool:
    """Return True if the record can change the price episode, the state of the key's proposal.

    While a proposal is open or the policy's `price_mode` is not off, every record can change it. An
    inserted `price_decision` row always can: if it names another proposal and its action isn't
    `approve`, the price episode counts a stale decision.
    """
    if state.price_episode.id is not None:
        return True
    if change.op == "c" and isinstance(change.after, PriceDecision):
        return True
    return state.policy is not None and state.policy.price_mode != "off"


def _pricing_trigger(before: KeyState, after: KeyState, change: Change) -> PricingTrigger:
    fact = change.after
    is_evaluated = evaluation_us(before.stream_time_us) != evaluation_us(after.stream_time_us) or (
        isinstance(fact, ItemLocation)
        and (raises_review(change.before, fact) or _differ(change.before, fact, PROPOSAL_COLUMNS))
    )
    if change.op == "c" and isinstance(fact, (PriceChange, PriceDecision)):
        return PricingTrigger(
            is_evaluated,
            fact if isinstance(fact, PriceChange) else None,
            fact if isinstance(fact, PriceDecision) else None,
        )
    return _EVALUATE if is_evaluated else _NO_PRICING


def pricing_inputs(state: KeyState, now_us: int) -> PricingInputs:
    """Return the inputs of a price decision at `now_us`."""
    stock, demand = state.stock, state.demand
    return PricingInputs(
        state.policy,
        state.timeline,
        stock.on_hand_units,
        stock.in_transit_units,
        state.allocated_units,
        stock.is_counted,
        demand.observed_days,
        demand.quiet_windows,
        demand.rate_micro,
        RecentSales(state.windows, evaluation_us(now_us) or 0),
        now_us,
    )
