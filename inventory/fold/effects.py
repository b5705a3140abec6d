"""The effects of a change: contribution(after) - contribution(before) (domain.md 2.2, 2.3).

Each row image has at most one effect. `fold.stock` and `fold.sales` add the effects to stock and
windows.
"""

from inventory.model.fact import Effect, Fact
from inventory.model.state import Count
from inventory.tables.stock_count import StockCount

Effects = tuple[Effect, ...]


def effects_of(before: Fact | None, after: Fact | None) -> Effects:
    """Return the effect of `before` with reversed sign, then the effect of `after`.

    An image without an effect, for example that of a count, adds nothing.
    """
    old = None if before is None else before.effect(-1)
    new = None if after is None else after.effect(1)
    if old is None:
        return () if new is None else (new,)
    return (old,) if new is None else (old, new)


def touches_days_before(effects: Effects, complete_us: int) -> bool:
    """Return True if a movement or sale line belongs to a day before `complete_us`.

    Days before `complete_us` are complete: their demand was learned without this movement or line.
    So the fold must learn the demand of all retained days again (domain.md 3.3).
    """
    for effect in effects:
        if effect.at_us < complete_us and (effect.moved_units or effect.line_units):
            return True
    return False


def approved(fact: Fact | None) -> Count | None:
    """Return the count of an approved `stock_count` image, and None for every other fact."""
    if isinstance(fact, StockCount) and fact.status == "approved":
        return Count(fact.business_at_us, fact.id, fact.units, fact.kind)
    return None
