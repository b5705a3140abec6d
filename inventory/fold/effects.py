"""The contribution of one row image to its key: one image, one effect (domain.md 2.3).

A change is the effect of its after-image minus that of its before-image. Both are signed parts,
which the folds of stock and windows add up.
"""

from inventory.model.fact import Effect, Fact
from inventory.model.state import Count
from inventory.model.windows import complete_before_us
from inventory.tables.stock_count import StockCount

Effects = tuple[Effect, ...]


def effects_of(before: Fact | None, after: Fact | None) -> Effects:
    """Return the contribution of `after` minus that of `before`: at most one effect per image."""
    old = None if before is None else before.effect(-1)
    new = None if after is None else after.effect(1)
    if old is None:
        return () if new is None else (new,)
    return (old,) if new is None else (old, new)


def touches_complete_days(effects: Effects, stream_time_us: int) -> bool:
    """Return True if a movement or line lies before the first incomplete day."""
    for effect in effects:
        at_us = effect.at_us
        if (effect.moved_units or effect.line_units) and at_us < complete_before_us(stream_time_us):
            return True
    return False


def approved(fact: Fact | None) -> Count | None:
    """Return the count that an image asserts. Other facts, drafts and voids give None."""
    if isinstance(fact, StockCount) and fact.status == "approved":
        return Count(fact.business_at_us, fact.id, fact.units, fact.kind)
    return None
