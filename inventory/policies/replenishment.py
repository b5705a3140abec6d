"""One need from opening to answer: the state machine of domain.md 5.3."""

from inventory.facts import ItemLocation, ReorderDecision
from inventory.model.episode import Episode
from inventory.model.ids import InvKey, Position
from inventory.model.outputs import ReorderOutput
from inventory.model.value import value
from inventory.policies.levels import Levels, levels
from inventory.policies.quantity import Quantity, order_quantity

__all__ = [
    "Levels",
    "Quantity",
    "ReplenishmentInputs",
    "ReplenishmentTrigger",
    "base_position_units",
    "levels",
    "next_episode",
    "order_quantity",
]


@value
class ReplenishmentInputs:
    """What is known of the key after the record, as far as a need depends on it."""

    policy: ItemLocation | None
    on_hand_units: int
    on_order_units: int
    allocated_units: int
    stock_known: bool
    rate_micro: int | None
    mad_micro: int | None
    stream_time_us: int


@value
class ReplenishmentTrigger:
    """What the record itself says to the need.

    `answered_ids` are the reorder ids that the after-image carries and the before-image did not;
    `decision` is an inserted row only; `reviewed`: the record raised `reviewed_at`;
    `columns_changed`: a replenishment column changed (domain.md 2.6).
    """

    answered_ids: tuple[str, ...] = ()
    decision: ReorderDecision | None = None
    reviewed: bool = False
    columns_changed: bool = False


def base_position_units(
    on_hand_units: int, on_order_units: int, allocated_units: int
) -> int:
    """B = max(0, on-hand) + max(0, on-order) − allocated: what triggers and quantities use."""
    return max(0, on_hand_units) + max(0, on_order_units) - allocated_units


def next_episode(
    key: InvKey,
    at: Position,
    episode: Episode,
    inputs: ReplenishmentInputs,
    trigger: ReplenishmentTrigger,
) -> tuple[Episode, ReorderOutput | None]:
    """At most one transition and one output for the record at `at`."""
    raise NotImplementedError
