"""From need to order quantity: trigger, need, pack, minimum, limits, guard (domain.md 5.2)."""

from inventory.facts import ItemLocation
from inventory.model.value import value
from inventory.policies.levels import Levels

Term = tuple[str, int | str | None]


@value
class Quantity:
    """What to order: `units` (None: no order, and `reason` says why), flags sorted, terms."""

    units: int | None
    reason: str | None
    flags: tuple[str, ...]
    terms: tuple[Term, ...]


def order_quantity(
    policy: ItemLocation, level: Levels, base_units: int, rate_micro: int | None
) -> Quantity:
    """Quantity for a triggered need, B ≤ s; all five later steps of domain.md 5.2 in order."""
    raise NotImplementedError
