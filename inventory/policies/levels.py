"""Reorder point and order-up-to level of the seven families (domain.md 5.1)."""

from inventory.facts import ItemLocation
from inventory.model.value import value


@value
class Levels:
    """SS, s and S. `s` is None without a policy or with family `off`, `S` also for sQ."""

    safety_stock_units: int
    reorder_point_units: int | None
    order_up_to_units: int | None


def levels(
    policy: ItemLocation | None, rate_micro: int | None, mad_micro: int | None
) -> Levels:
    """Levels from the policy and the demand as known now; `rate_micro` None is unknown."""
    raise NotImplementedError
