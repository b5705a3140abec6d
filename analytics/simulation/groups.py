"""Groups of a report: by store, by supplier and by class."""

from typing import Final, NamedTuple

from analytics.simulation.key_history import KeyHistory
from analytics.simulation.outcome import Outcome
from inventory.model.arithmetic import DAY_US

STORE, SUPPLIER, CLASS = "store", "supplier", "class"
DIMENSIONS: Final = (STORE, SUPPLIER, CLASS)
FAST, MEDIUM, SLOW, UNSOLD = "fast", "medium", "slow", "unsold"
CLASSES: Final = (FAST, MEDIUM, SLOW, UNSOLD)
NO_SUPPLIER: Final = "(none)"
_WEEK: Final = 7


class Group(NamedTuple):
    """An item's store, supplier and class (`kind`): the groups in which its figures count."""

    store: str
    supplier: str
    kind: str

    def of(self, dimension: str) -> str:
        """Return the item's group in a dimension."""
        return {STORE: self.store, SUPPLIER: self.supplier, CLASS: self.kind}[dimension]


GroupKey = tuple[str, Group]  # scenario and group


def group_key(history: KeyHistory, past: Outcome) -> Group:
    """Return the groups of an item: its last supplier, and its class by units sold in history."""
    supplier = history.latest_policy.get("supplier") or NO_SUPPLIER
    return Group(history.key.partition("|")[0], supplier, _class_of(past))


def _class_of(past: Outcome) -> str:
    """Return the class by units sold: at least one a day is fast, at least one a week medium.

    Fewer is slow. Without any sale, the item is in the class of unsold items.
    """
    if past.sold_units == 0:
        return UNSOLD
    if past.sold_units * DAY_US >= past.period_us:
        return FAST
    return MEDIUM if past.sold_units * DAY_US * _WEEK >= past.period_us else SLOW
