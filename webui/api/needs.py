"""Reorder needs (orders that the rules propose), and the buyer's decisions on them."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, assert_never

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from ledger.kernel.errors import refuse
from ledger.reorders.approval_plans import MOST_PARTS
from ledger.reorders.approvals import ApprovalOutcome
from ledger.services import (
    ApproveReorder,
    NotOrdered,
    Ordered,
    OrderedBefore,
    Part,
    approve_reorder,
    approve_reorders,
    reject_reorder,
    resume_reorder,
    snooze_reorder,
)
from webui.accounts.api_tokens import NEEDS_DECIDE, NEEDS_READ
from webui.accounts.roles import DECIDE_REORDERS, ORDER_ODD_UNITS, SEE
from webui.api.access import Token, caller_of
from webui.api.answers import (
    SUPPLIER,
    USUAL_ROWS,
    After,
    Aged,
    CommandId,
    Day,
    Flag,
    Given,
    Limit,
    Location,
    Revision,
    Snooze,
    Text,
    Units,
    age_of,
    currency,
    described,
    position_of,
    split_page,
    time_of,
)
from webui.readmodel.proposals import ReorderProposal, reorder_proposal, reorder_proposals

MOST_AT_ONCE = 100
router = Router(tags=["needs"])


class Need(Schema):
    """A reorder need: an order that the rules propose.

    `units` is the quantity to order, null once the need is closed.

    A request that decides about the need repeats the `revision` that the client read. The request
    is refused if the need has changed since that revision. `waits` is true while the workers have
    not processed a person's decision yet.
    """

    id: str
    revision: int
    status: str
    hold: str | None
    location: str
    sku: str
    name: str
    supplier: str
    supplier_name: str
    units: int | None
    pack_units: int
    cost_minor: int
    value_minor: int
    currency: str
    on_hand_units: int | None
    on_order_units: int | None
    base_position_units: int
    reorder_point_units: int | None
    order_up_to_units: int | None
    flags: list[str]
    reason: str | None
    opened_at: datetime
    updated_at: datetime
    decided_action: str | None
    decided_by: str | None
    decided_at: datetime | None
    decided_units: int | None
    waits: bool
    as_of: datetime | None


class NeedPage(Aged):
    """Needs in the order of supplier and location; closed needs with the newest first."""

    items: list[Need]
    next: str | None


class NeedAnswer(Aged):
    """One need, with the age of its figures."""

    item: Need


class NeedFilters(Schema):
    """Filters of the list."""

    view: Literal["open", "held", "closed"] = "open"
    location: Location = ""
    supplier: Annotated[str, Field(max_length=64, description=SUPPLIER)] = ""
    after: After = ""
    limit: Limit = USUAL_ROWS


class InPacks(Given):
    """A quantity in packs. Without `packs` and `pack_units`, the need's own quantity is ordered.

    A quantity is refused if it is above 100 units and also above ten times the need's own quantity.
    With `confirmed` true it is accepted.
    """

    packs: Units | None = None
    pack_units: Units | None = None
    confirmed: Flag = False

    @property
    def units(self) -> int | None:
        """Return the quantity in units, or None for the need's own quantity.

        Raises:
            ServiceError: only one of `packs` and `pack_units` is given.
        """
        if self.packs is None and self.pack_units is None:
            return None
        if self.packs is None or self.pack_units is None:
            refuse("packs", self.packs, "packs and pack_units together, or neither")
        return self.packs * self.pack_units


class SplitPart(Given):
    """One order line of a split approval.

    Without `supplier`, the order goes to the supplier of the need, or else of its item. Without
    `due_on`, the order is due after the lead time.
    """

    units: Units
    supplier: Text | None = None
    due_on: Day | None = None


class Approve(InPacks):
    """Order a need: its own quantity, or `packs` of `pack_units` each, or several parts."""

    action: Literal["approve"]
    revision: Revision
    parts: Annotated[list[SplitPart], Field(min_length=1, max_length=MOST_PARTS)] | None = None


class Reject(Given):
    """Reject a need. For seven days, the rules open no need of its item."""

    action: Literal["reject"]
    revision: Revision
    reason: Annotated[Text, Field(min_length=1)]


class Resume(Given):
    """End the hold of a need now: the rules may open needs of its item again."""

    action: Literal["resume"]
    revision: Revision


NeedCommand = Annotated[Approve | Reject | Snooze | Resume, Field(discriminator="action")]


class NeedDecided(Schema):
    """The result of a decision. An approval has the order, which is a draft until it is sent.

    `outcome` is `ordered_before` if the need had already been ordered. Then the command wrote
    nothing. `not_ordered` occurs only if one request approves many needs; `reason` states why.
    """

    need_id: str
    outcome: Literal["ordered", "ordered_before", "not_ordered", "rejected", "snoozed", "resumed"]
    order_ref: str | None = None
    units: int | None = None
    line_ids: list[int] = Field(default_factory=list)
    reason: str | None = None


class ApproveOne(InPacks):
    """One of the needs to approve, with the revision that the client read."""

    need_id: Annotated[Text, Field(min_length=1)]
    revision: Revision


class ApproveMany(Given):
    """Needs to approve in one transaction. If one can't be ordered, the others are ordered."""

    approvals: Annotated[list[ApproveOne], Field(min_length=1, max_length=MOST_AT_ONCE)]


class ManyDecided(Schema):
    """The outcome of each need, in the order of the request."""

    results: list[NeedDecided]


@router.get("/needs", auth=Token(NEEDS_READ, SEE), response=NeedPage, operation_id="listNeeds")
def list_needs(request: HttpRequest, given: Query[NeedFilters]) -> NeedPage:
    """List open, held or closed needs at the locations of the token's owner."""
    found = reorder_proposals(
        view=given.view,
        location=given.location,
        supplier=given.supplier,
        after=position_of(given.after),
        rows=given.limit + 1,
    )
    rows, following = split_page(found, given.limit, lambda row: row.reorder_id)
    age = age_of([row.inv_key for row in rows])
    return NeedPage(items=[need_of(row) for row in rows], next=following, **age)


@router.post(
    "/needs",
    auth=Token(NEEDS_DECIDE, DECIDE_REORDERS),
    response=ManyDecided,
    operation_id="approveNeeds",
)
def approve_needs(request: HttpRequest, body: ApproveMany, command_id: CommandId) -> ManyDecided:
    """Approve up to 100 needs at once; each becomes a line of its supplier's draft order."""
    caller = caller_of(request)
    outcomes = approve_reorders(
        [
            ApproveReorder(one.need_id, one.revision, one.units, is_confirmed=one.confirmed)
            for one in body.approvals
        ],
        odd_units_allowed=caller.may(ORDER_ODD_UNITS),
        actor=caller.name,
        command_id=command_id,
    )
    return ManyDecided(results=[_approved(outcome) for outcome in outcomes])


@router.get(
    "/needs/{path:need_id}",
    auth=Token(NEEDS_READ, SEE),
    response=NeedAnswer,
    operation_id="getNeed",
)
def get_need(request: HttpRequest, need_id: str) -> NeedAnswer:
    """Return one need."""
    row = reorder_proposal(need_id)
    if row is None:
        message = f"no need {need_id} exists at this token's locations"
        raise Http404(message)
    return NeedAnswer(item=need_of(row), **age_of([row.inv_key]))


@router.post(
    "/needs/{path:need_id}",
    auth=Token(NEEDS_DECIDE, DECIDE_REORDERS),
    response=NeedDecided,
    operation_id="decideNeed",
)
def decide_need(
    request: HttpRequest, need_id: str, body: NeedCommand, command_id: CommandId
) -> NeedDecided:
    """Approve, reject, snooze or resume one need."""
    caller = caller_of(request)
    common: dict[str, Any] = {
        "reorder_id": need_id,
        "shown_revision": body.revision,
        "actor": caller.name,
        "command_id": command_id,
    }
    match body:
        case Approve():
            done = approve_reorder(
                ApproveReorder(
                    need_id,
                    body.revision,
                    body.units,
                    _parts(body.parts),
                    is_confirmed=body.confirmed,
                ),
                odd_units_allowed=caller.may(ORDER_ODD_UNITS),
                actor=caller.name,
                command_id=command_id,
            )
            return _approved(done)
        case Reject():
            reject_reorder(**common, reason=body.reason)
            return NeedDecided(need_id=need_id, outcome="rejected")
        case Snooze():
            length = timedelta(days=body.days)
            snooze_reorder(**common, until_at=length, reason=body.reason)
            return NeedDecided(need_id=need_id, outcome="snoozed")
        case Resume():
            resume_reorder(**common)
            return NeedDecided(need_id=need_id, outcome="resumed")
        case _:
            assert_never(body)


def _parts(parts: Sequence[SplitPart] | None) -> list[Part] | None:
    if parts is None:
        return None
    return [Part(part.units, part.supplier, part.due_on) for part in parts]


def _approved(outcome: ApprovalOutcome) -> NeedDecided:
    match outcome:
        case NotOrdered():
            need, reason = outcome.reorder_id, outcome.reason
            return NeedDecided(need_id=need, outcome="not_ordered", reason=reason)
        case Ordered() | OrderedBefore():
            is_new = isinstance(outcome, Ordered)
            return NeedDecided(
                need_id=outcome.reorder_id,
                outcome="ordered" if is_new else "ordered_before",
                order_ref=outcome.order_ref,
                units=outcome.units,
                line_ids=list(outcome.line_ids),
            )
        case _:
            assert_never(outcome)


def need_of(row: ReorderProposal) -> Need:
    """Return a proposal as the `Need` of a response."""
    further = {"id": row.reorder_id, "units": row.quantity_units, "currency": currency()}
    return described(Need, row, **further, as_of=time_of(row.as_of_us))
