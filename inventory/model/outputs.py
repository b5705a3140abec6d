"""Outputs of a fold: decisions with the numbers behind them (domain.md 5.3, 6.3)."""

from inventory.model.ids import ProposalId, ReorderId
from inventory.model.value import value


@value
class ReorderOutput:
    """One revision of a need. A status other than `open` carries no quantity and no flags.

    `terms` holds the named integers of the arithmetic in a fixed order (domain.md 5.2), for people.
    """

    id: ReorderId
    revision: int
    status: str  # open | accepted | cancelled | rejected | snoozed
    quantity_units: int | None
    base_position_units: int
    reorder_point_units: int | None
    order_up_to_units: int | None
    flags: tuple[str, ...]  # sorted
    reason: str | None
    terms: tuple[tuple[str, int | str | None], ...] = ()


@value
class PriceOutput:
    """One revision of a price proposal."""

    id: ProposalId
    revision: int
    status: str  # open | accepted | cancelled | expired | rejected | snoozed
    old_minor: int
    new_minor: int
    step: int
    signal: str
    clamps: tuple[str, ...]  # in the order in which they applied
    effective_at_us: int
    prior_minor: int | None
    reason: str | None
    floor_minor: int
    regular_minor: int
    terms: tuple[tuple[str, int | str | None], ...] = ()


@value
class LateSale:
    """The net of one source record outside all windows (domain.md 3.2): signed units and amount."""

    units: int
    amount_minor: int


Output = ReorderOutput | PriceOutput
