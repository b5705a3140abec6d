"""Locked rows of reorder and price proposals, and the names of their tables and columns."""

from dataclasses import dataclass, fields
from datetime import datetime
from typing import Final, Generic, TypeVar

from typing_extensions import override

from ledger.access.scope import require_key
from ledger.kernel.amounts import amount_text
from ledger.kernel.errors import refuse
from ledger.kernel.refusal_text import moment_text, person
from ledger.kernel.row_parts import Keyed
from ledger.kernel.unscoped_rows import read_all, read_one
from ledger.messages import Message
from ledger.nouns import counted

# SQL condition of the proposals `r` on which a person or rule may decide. After a snooze, the row
# stays open until the workers have processed the snooze. During this time, `decided_at` is later
# than `updated_at`, and the condition is false. If `updated_at` is later and the row is open, the
# snooze has ended, and the condition is true.
DECIDABLE_SQL: Final = """r.status = 'open'
    AND coalesce(r.decided_action, '') NOT IN ('approve', 'reject')
    AND NOT (coalesce(r.decided_action, '') = 'snooze'
             AND coalesce(r.decided_at > r.updated_at, false))"""


@dataclass(frozen=True, slots=True)
class Proposal(Keyed):
    """The columns that reorder and price proposals have in common.

    `decided_*` describe the last decision of a person or rule, None before the first one.
    """

    id: str
    inv_key: str
    location: str
    sku: str
    revision: int
    status: str
    updated_at: datetime
    decided_action: str | None
    decided_by: str | None
    decided_at: datetime | None

    @property
    def decider(self) -> str:
        """The name of the person who made the last decision, or "the system"."""
        return person(self.decided_by)

    @property
    def decision_time(self) -> str:
        """The time of the last decision as text; empty if there is none."""
        return "" if self.decided_at is None else moment_text(self.decided_at)

    @property
    def is_unanswered(self) -> bool:
        """True if the workers have not processed the last decision yet.

        The proposal's last update is then older than its last decision.
        """
        return self.decided_at is not None and self.decided_at > self.updated_at

    @property
    def asks(self) -> str:
        """The proposed quantity or price as a clause for messages, like ` and asks for 12 units`.

        It is empty for a proposal without a quantity.
        """
        return ""


@dataclass(frozen=True, slots=True)
class NeedProposal(Proposal):
    """A reorder proposal (need); `quantity_units` is None once the need is closed.

    `decided_units` are the units that an approval ordered, None if there is no approval or a
    transfer answers the need.
    """

    supplier: str | None
    quantity_units: int | None
    decided_units: int | None

    @property
    @override
    def asks(self) -> str:
        """The proposed quantity as a clause for messages; empty for a closed need."""
        return (
            ""
            if self.quantity_units is None
            else Message(" and asks for %(units)s", units=counted(self.quantity_units, "unit"))
        )


@dataclass(frozen=True, slots=True)
class PriceProposal(Proposal):
    """A price proposal; `effective_at_us` is in microseconds since 1970 UTC."""

    new_minor: int
    step: int
    effective_at_us: int

    @property
    @override
    def asks(self) -> str:
        """The proposed price as a clause for messages, like ` and asks for €6.49`."""
        return Message(" and asks for %(new_minor)s", new_minor=amount_text(self.new_minor))


P_co = TypeVar("P_co", bound=Proposal, covariant=True)


@dataclass(frozen=True, slots=True)
class Desk(Generic[P_co]):
    """The tables and columns of one kind of proposal, and of decisions on such proposals.

    `table`, in schema `app`, has the proposals. `decisions`, in schema `retail`, has the decisions;
    its column `revision_column` has the revision on which a person or rule decided.
    """

    row: type[P_co]
    table: str
    id_column: str
    decisions: str
    revision_column: str

    def select(self) -> str:
        """Return a SELECT statement of the proposals, without WHERE."""
        columns = [field.name for field in fields(self.row) if field.name != "id"]
        return f"SELECT {self.id_column} AS id, {', '.join(columns)} FROM app.{self.table}"  # noqa: S608 -- names of the two desks below


REORDERS: Final = Desk(
    NeedProposal, "reorder_proposal", "reorder_id", "reorder_decision", "need_revision"
)
PRICES: Final = Desk(
    PriceProposal, "price_proposal", "proposal_id", "price_decision", "price_revision"
)


def locked_proposal(desk: Desk[P_co], proposal: str) -> P_co:
    """Return a proposal, locked until the transaction ends; raise `ServiceError` if none exists."""
    sql = f"{desk.select()} WHERE {desk.id_column} = %s FOR UPDATE"
    found = read_one(desk.row, sql, proposal)
    if found is None:
        refuse(desk.id_column, proposal, "no such proposal")
    require_key(found.inv_key)
    return found


def locked_needs(reorder_ids: list[str]) -> list[NeedProposal]:
    """Return the existing needs in `reorder_ids`, sorted by id, locked until the transaction ends.

    The caller checks that the needs belong to the person's stores.
    """
    sql = f"{REORDERS.select()} WHERE reorder_id = ANY(%s) ORDER BY reorder_id FOR UPDATE"
    return read_all(NeedProposal, sql, reorder_ids)
