"""The states of a key's two state machines, for needs and for price proposals."""

from inventory.model.ids import ProposalId, ReorderId
from inventory.model.outputs import PriceOutput, ReorderOutput
from inventory.model.value import value


@value
class Episode:
    """The state of a key's need, which is a reorder that the rules ask for (domain.md 5.3).

    `state` is one of these:
    - idle: no need. `id` is None and `revision` is 0.
    - open: the need has the quantity `quantity_units`, which is None in all other states.
    - held-snoozed, held-rejected: a person snoozed or rejected the need.
    - held-short: the need was ordered, but the order was too small.

    `until_us` and `floor_units` are set only in the held states. `floor_units` is the base position
    at the start of the hold. A held state ends at `until_us`, or earlier for one of the causes in
    domain.md 5.3. In a periodic family it lasts beyond `until_us` while the key waits for an order
    day (domain.md 11.7). In held-rejected and held-short, the need `id` is already closed.

    A worker sends `last_output` again when it reads a record of the key a second time. An output
    with status `open` is also sent again at regular intervals.
    """

    state: str = "idle"
    id: ReorderId | None = None
    revision: int = 0
    quantity_units: int | None = None
    until_us: int | None = None
    floor_units: int | None = None  # base position at the start of the hold
    reason: str | None = None
    stale_decisions: int = 0
    last_output: ReorderOutput | None = None


@value
class PriceEpisode:
    """The state of a key's pricing (domain.md 6.3).

    While no proposal is open, `id` and `proposal_price_minor` are None, and `revision` is the last
    revision of the last proposal. The rules open no proposal before `blocked_until_us`.
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
