"""Dataclasses of an approval: the request, the approver, and the outcomes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from ledger.messages import Message
from ledger.nouns import counted


@dataclass(frozen=True, slots=True)
class Part:
    """One order line of an approval.

    `supplier` None means the supplier of the proposal or, if it has none, of the item. `due_on`
    None means the day that follows from the lead time when the order is sent.
    """

    units: int
    supplier: str | None = None
    due_on: date | None = None


@dataclass(frozen=True, slots=True)
class ApproveReorder:
    """A request to order the need (proposed reorder) `reorder_id`.

    The person saw the revision `shown_revision` of the need.

    `units` is the quantity to order, None for the proposed quantity. With `parts` None, one line
    has the whole quantity. Otherwise there is one line per part, and the units of all parts must
    add up to the quantity. Without `is_confirmed`, a quantity far beyond the suggestion is refused
    (`ledger.ordering.plausibility`).
    """

    reorder_id: str
    shown_revision: int
    units: int | None = None
    parts: Sequence[Part] | None = None
    is_confirmed: bool = True


@dataclass(frozen=True, slots=True)
class Approver:
    """The actor of an approval, and the options of the approval.

    `odd_units_allowed` accepts units that are no multiple of the pack. Without `sends` and
    `automatic`, the order lines join the draft orders of their suppliers and locations. With one of
    these two, they join new orders, which are sent at once. `automatic` means that the rules
    approve.

    With `sends`, needs whose order would be below the supplier's minimum are refused, unless
    `below_minimum_allowed`. Before an automatic approval, `ledger.reorders.automatic`
    compares the value of each order with this minimum.
    """

    actor: str | None
    odd_units_allowed: bool = False
    automatic: bool = False
    sends: bool = False
    below_minimum_allowed: bool = False

    @property
    def sends_at_once(self) -> bool:
        """True if the lines are sent with the approval."""
        return self.sends or self.automatic


@dataclass(frozen=True, slots=True)
class Ordered:
    """The order lines that this approval wrote; only the first one has the reorder id.

    `order_ref` is the order of the first line.
    """

    reorder_id: str
    line_ids: tuple[int, ...]
    units: int
    order_ref: str


@dataclass(frozen=True, slots=True)
class OrderedBefore:
    """The result of an approval that wrote nothing, because an earlier one had ordered the need.

    `line_ids` has only the first order line of the earlier approval. `units` is the whole quantity
    that the earlier approval ordered.
    """

    reorder_id: str
    line_ids: tuple[int, ...]
    units: int
    order_ref: str


@dataclass(frozen=True, slots=True)
class NotOrdered:
    """A need for which nothing was written, and the reason as text for people."""

    reorder_id: str
    reason: str


ApprovalOutcome = Ordered | OrderedBefore | NotOrdered


@dataclass(frozen=True, slots=True)
class ToOrder:
    """A need that can be ordered now. `value_minor` is its value at cost in minor units."""

    reorder_id: str
    location: str
    supplier: str
    units: int
    value_minor: int


@dataclass(frozen=True, slots=True)
class OrderedItem:
    """The columns of an item that its order lines depend on; the row is locked against changes."""

    inv_key: str
    supplier: str | None
    pack_units: int
    cost_minor: int
    lead_time_centidays: int


def ordered_text(*, who: str, units: int, order_ref: str, at: str) -> Message:
    """Return the sentence about an earlier order of a need: the person, units, order and time."""
    return Message(
        "%(who)s has already ordered %(units)s as %(order_ref)s, %(at)s",
        who=who,
        units=counted(units, "unit"),
        order_ref=order_ref,
        at=at,
    )
