"""The two state machines of a key: a need and a price proposal."""

from inventory.model.ids import ProposalId, ReorderId
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.value import value


@value
class Episode:
    """State of replenishment (domain.md 5.3).

    `state` is one of idle, open, held-snoozed, held-rejected, held-short. `id` is None in idle and
    names the last closed need in held-rejected and held-short. `quantity_units` is None outside
    open. A worker sends `last_output` again on a skipped replay and on its timer.
    """

    state: str = "idle"
    id: ReorderId | None = None
    revision: int = 0
    quantity_units: int | None = None
    until_us: int | None = None
    floor_units: int | None = None  # B on entry of a hold
    reason: str | None = None
    stale_decisions: int = 0
    last_output: ReorderOutput | None = None


@value
class PriceEpisode:
    """State of pricing (domain.md 6.3). `id` is None while nothing is proposed."""

    id: ProposalId | None = None
    revision: int = 0
    proposal_price_minor: int | None = None
    blocked_until_us: int | None = None
    reason: str | None = None  # of the last evaluation without a proposal
    stale_decisions: int = 0
    last_output: PriceOutput | None = None


IDLE = Episode()
NO_PROPOSAL = PriceEpisode()
