"""One price proposal from opening to closing (domain.md 6.3, 11.9)."""

from inventory.facts import ItemLocation, PriceChange, PriceDecision
from inventory.model.arithmetic import ceil_div
from inventory.model.episode import PriceEpisode
from inventory.model.ids import InvKey, Position
from inventory.model.outputs import PriceOutput
from inventory.model.price_timeline import PriceRow
from inventory.model.value import value


@value
class PricingInputs:
    """What is known of the key after the record, as far as a price depends on it."""

    policy: ItemLocation | None
    timeline: tuple[PriceRow, ...]
    on_hand_units: int
    in_transit_units: int
    allocated_units: int
    stock_known: bool
    observed_days: int
    quiet_windows: int
    rate_micro: int | None
    sold_last_24h_units: int
    stream_time_us: int


@value
class PricingTrigger:
    """What the record itself says to the price.

    `evaluate`: it raised `reviewed_at`, moved E, or changed cost or the price group (11.9).
    `price_row` and `decision` are inserted rows only.
    """

    evaluate: bool = False
    price_row: PriceChange | None = None
    decision: PriceDecision | None = None


def floor_minor(cost_minor: int, margin_permille: int, tax_bp: int) -> int:
    """Lowest price that covers cost, margin and tax: two divisions, both rounded up."""
    net_minor = ceil_div(cost_minor * 1000, 1000 - margin_permille)
    return ceil_div(net_minor * (10_000 + tax_bp), 10_000)


def next_proposal(
    key: InvKey,
    at: Position,
    episode: PriceEpisode,
    inputs: PricingInputs,
    trigger: PricingTrigger,
) -> tuple[PriceEpisode, PriceOutput | None]:
    """At most one transition and one output for the record at `at`."""
    raise NotImplementedError
