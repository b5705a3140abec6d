"""The outputs of a fold: revisions of needs and prices, late sales (domain.md 3.2, 5.3, 6.3)."""

from inventory.model.ids import ProposalId, ReorderId
from inventory.model.value import value


@value
class ReorderOutput:
    """One revision of a need, a reorder that the rules ask for.

    Only a revision with status `open` has a quantity and flags. A flag is a reason why a person
    must approve the need. `terms` explain the quantity: its named inputs and steps in a fixed order
    (domain.md 5).
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
    """One revision of a price proposal (domain.md 6.3). Prices are in minor units.

    A closing revision repeats the last open revision, with another status and reason. `prior_minor`
    is the prior price of a reduction (domain.md 6.2). It is None for a raise, or if no price was in
    force in the 30 days from which the prior price is taken. `terms` explain the price: its inputs
    in a fixed order.
    """

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
    """The net sales of one source record in expired windows (domain.md 3.2).

    Units sold are positive, units returned negative. The topic `stock.late` lists these sales.
    """

    units: int
    amount_minor: int


Output = ReorderOutput | PriceOutput
