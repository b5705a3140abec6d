"""The states of a key's two state machines, for needs and for price proposals."""

from inventory.model.ids import ProposalId, ReorderId
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.value import value


@value
class Episode:
    """The state of a key's replenishment (domain.md 5.3).

    `state` is idle, open, held-snoozed, held-rejected or held-short. `id` is the need's id, None in
    state idle. In held-rejected and held-short that need is already closed. `revision` is the
    need's revision, 0 in idle. `quantity_units` is set only in open, `until_us` and `floor_units`
    only in the held states. A worker sends `last_output` again when it reads a record of the key
    twice, and at regular intervals while the output's status is `open`.
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
    """The state of a key's pricing (domain.md 6.3).

    While no proposal is open, `id` and `proposal_price_minor` are None, and `revision` is the last
    proposal's revision.
    """

    id: ProposalId | None = None
    revision: int = 0
    proposal_price_minor: int | None = None
    blocked_until_us: int | None = None
    reason: str | None = None  # why the last proposal closed, or why an evaluation opened none
    stale_decisions: int = 0
    last_output: PriceOutput | None = None


IDLE = Episode()
NO_PROPOSAL = PriceEpisode()
