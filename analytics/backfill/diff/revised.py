"""One revision of a decision in the form that a comparison needs. No I/O.

`decision` has the values on which people act, `explanation` the numbers behind them. Two revisions
that differ only in their explanation are the same decision. Logic revision and id are not compared.
The id names the record that opened the need, and other rules open it at another record.
"""

import json
from dataclasses import dataclass
from typing import Final

from analytics.digest import row_hash
from cdc.contracts.decisions import PriceEvent, ReorderEvent

REORDER: Final = "reorder"
PRICE: Final = "price"
KINDS: Final = (REORDER, PRICE)
OPEN: Final = "open"
# Statuses after which an id has no further revision. A snoozed need is not closed: it can be
# opened again under the same id. A snoozed price proposal is closed.
_CLOSED: Final = {
    REORDER: frozenset({"accepted", "cancelled", "rejected"}),
    PRICE: frozenset({"accepted", "cancelled", "expired", "rejected", "snoozed"}),
}

# The id, and the fields that form `Revised.decision`. All other fields are explanation.
DECISION_FIELDS: Final = {
    REORDER: frozenset({"id", "status", "quantity_units", "supplier", "cost_minor"}),
    PRICE: frozenset({"id", "status", "new_minor", "effective_at_us", "prior_minor"}),
}

Content = tuple[object, ...]
Term = tuple[str, int | str | None]


@dataclass(frozen=True, slots=True)
class Revised:
    """One revision (version) of a need (proposed reorder) or of a price proposal.

    `offset` is the offset of the record that caused this revision.
    """

    kind: str
    event: ReorderEvent | PriceEvent
    decision: Content
    explanation: Content

    @property
    def id(self) -> str:
        """Return the id of the need or proposal."""
        return str(self.event.output.id)

    @property
    def offset(self) -> int:
        """Return the offset of the record that caused this revision."""
        return self.event.at.origin.offset

    @property
    def status(self) -> str:
        """Return the status of this revision."""
        return self.event.output.status

    @property
    def reason(self) -> str | None:
        """Return the code or text with which the need or proposal was closed."""
        return self.event.output.reason

    @property
    def terms(self) -> tuple[Term, ...]:
        """Return the named integers of the arithmetic, in their fixed order."""
        return self.event.output.terms

    @property
    def is_closed(self) -> bool:
        """Return True if no later revision of this id follows."""
        return self.status in _CLOSED[self.kind]

    @property
    def hash(self) -> int:
        """Return a 128-bit hash of offset, decision and explanation."""
        content = json.dumps([self.offset, self.decision, self.explanation])
        return row_hash(content.encode())


def reorder(event: ReorderEvent) -> Revised:
    """Return one revision of a need (proposed reorder).

    Its decision is status, quantity, supplier and unit cost.
    """
    need = event.output
    decision = (need.status, need.quantity_units, event.supplier, event.cost_minor)
    levels = (need.base_position_units, need.reorder_point_units, need.order_up_to_units)
    return Revised(REORDER, event, decision, (*levels, need.flags, need.reason, need.terms))


def price(event: PriceEvent) -> Revised:
    """Return one revision of a price proposal.

    Its decision is status, new price, effective time and the announced prior price.
    """
    asked = event.output
    decision = (asked.status, asked.new_minor, asked.effective_at_us, asked.prior_minor)
    limits = (asked.old_minor, asked.floor_minor, asked.regular_minor)
    rules = (asked.step, asked.signal, asked.clamps, asked.reason, asked.terms)
    return Revised(PRICE, event, decision, (*limits, *rules))
