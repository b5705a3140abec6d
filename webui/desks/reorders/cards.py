"""Cards of the reorders desk, as its templates read them.

A form field holds the proposed number, or the text that a person typed before a refusal.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from ledger.reorders.automatic import PASSING, Reason
from webui.desks.reorders.queries import Source
from webui.readmodel.decision_terms import Steps
from webui.readmodel.proposals import ReorderProposal
from webui.shell.desk import Refusal


@dataclass(frozen=True, slots=True)
class PartInput:
    """The fields of one part of a split order."""

    number: int
    units: str
    supplier: str | None
    due_on: str


@dataclass(frozen=True, slots=True)
class TransferOffer:
    """The fields of a transfer that would cover a need, and the locations that can send it."""

    sources: Sequence[Source]
    is_open: bool
    source: str
    units: int | str
    due_on: str


@dataclass(frozen=True, slots=True)
class NeedCard:
    """A need with its arithmetic and the fields of its decisions.

    `far_units` is the refused quantity if it is far beyond the suggestion, else None. A person can
    confirm this quantity. `waits_because` has the reasons why no rule orders the need now; None for
    a need that rules don't consider. `ignored` names the warnings that don't stop an automatic
    order. `order_ref` is the order of the need, or empty. `transfer` is None if a person can't
    decide on the need now, or if no location has spare units.
    """

    proposal: ReorderProposal
    arithmetic: Sequence[Steps]
    refusal: Refusal | None
    shows_forms: bool
    units: int | str | None
    far_units: int | None
    reason: str
    days: str
    command_id: UUID
    waits_because: Sequence[Reason] | None
    ignored: str
    order_ref: str
    parts: Sequence[PartInput]
    transfer: TransferOffer | None

    @property
    def is_closed(self) -> bool:
        """True if the need has ended.

        The card then shows the reorder point, order-up-to level and base position at the time when
        the need ended.
        """
        return self.proposal.status not in {"open", "snoozed"}

    @property
    def is_automatic(self) -> bool:
        """True if a rule will order the need: now, or when the reasons in `waits_because` end."""
        because = self.waits_because
        return because is not None and all(reason.code in PASSING for reason in because)
