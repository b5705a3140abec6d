"""Prices in force, the timeline of one item, and proposed prices."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, assert_never

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field, StrictInt

from ledger.kernel.transactions import database_now
from ledger.pricing.prices import MOST_PRICE
from ledger.services import (
    PriceWritten,
    SetPrice,
    approve_price,
    reject_price,
    roll_back_price,
    set_price,
    snooze_price,
)
from webui.accounts.api_tokens import PRICES_READ, PRICES_WRITE
from webui.accounts.roles import DECIDE_PRICES, SEE
from webui.api.access import Token, caller_of
from webui.api.answers import (
    USUAL_ROWS,
    WHOLE,
    After,
    Aged,
    CommandId,
    Flag,
    Given,
    Id,
    Limit,
    Location,
    Revision,
    SkuInPath,
    Snooze,
    Text,
    age_of,
    currency,
    described,
    position_of,
    split_page,
    time_of,
)
from webui.desks.prices.queries import last_id, price_rows, priced_item
from webui.readmodel.proposals import PriceProposal, price_proposal, price_proposals
from webui.readmodel.stock import Place, stock_page
from webui.readmodel.stock_filters import Filters

router = Router(tags=["prices"])


class CurrentPrice(Schema):
    """The price in force at `priced_at`, in minor units; null for an item without a price."""

    location: str
    sku: str
    name: str
    price_minor: int | None
    currency: str
    priced_at: datetime | None


class PricePage(Schema):
    """Prices in the order of location and SKU."""

    items: list[CurrentPrice]
    next: str | None


class PriceFilters(Schema):
    """Filters of the list."""

    location: Location = ""
    after: After = ""
    limit: Limit = USUAL_ROWS


class PriceStep(Schema):
    """A row of the timeline: the price from `effective_from` on.

    `is_scheduled` is true before that time. `is_undone` is true if a price that was written later
    for the same time replaces this one.
    """

    id: int
    effective_from: datetime
    price_minor: int
    floor_minor: int
    step: int
    kind: str
    proposal_id: str | None
    recorded_by: str | None
    recorded_at: datetime
    is_in_force: bool
    is_scheduled: bool
    is_undone: bool


class ItemPrices(Schema):
    """The newest 200 prices of an item, the newest first, and its present floor.

    A request that sets a price repeats `newest_id`: the highest `id` of `prices`, or 0 without one.
    """

    location: str
    sku: str
    name: str
    floor_minor: int
    regular_minor: int | None
    price_mode: str
    currency: str
    newest_id: int
    prices: list[PriceStep]
    as_of: datetime


class Set(Given):
    """Set a price from the next ten-minute window on. An emergency price needs a reason.

    A price below half or above twice the last price is refused unless `confirmed` is true.
    """

    action: Literal["set"]
    newest_id: Id
    price_minor: Annotated[StrictInt, Field(ge=1, le=MOST_PRICE), WHOLE]
    kind: Literal["manual", "emergency"] = "manual"
    confirmed: Flag = False
    reason: Text | None = None


class RollBack(Given):
    """Return to the price before the newest one, but not below the floor.

    The new price begins with the next window. If the newest price is scheduled for later, the new
    price begins at that later time and replaces the newest price.
    """

    action: Literal["roll_back"]
    newest_id: Id
    reason: Text | None = None


PriceCommand = Annotated[Set | RollBack, Field(discriminator="action")]


class PriceSet(Schema):
    """The id of the new row of the timeline."""

    price_id: int


class Proposal(Schema):
    """A proposed price in minor units.

    `signal` is the condition for which the rules propose another price. `clamps` are the limits
    that changed the proposed price, for example the price floor.
    """

    id: str
    revision: int
    status: str
    location: str
    sku: str
    name: str
    old_minor: int
    new_minor: int
    regular_minor: int
    floor_minor: int
    prior_minor: int | None
    cost_minor: int | None
    currency: str
    step: int
    signal: str
    clamps: list[str]
    effective_at: datetime | None
    blocked_until: datetime | None
    reason: str | None
    opened_at: datetime
    updated_at: datetime
    decided_action: str | None
    decided_by: str | None
    decided_at: datetime | None
    waits: bool
    as_of: datetime | None


class ProposalPage(Aged):
    """Proposed prices in the order of location and SKU; closed ones with the newest first."""

    items: list[Proposal]
    next: str | None


class ProposalAnswer(Aged):
    """One proposed price, with the age of its figures."""

    item: Proposal


class ProposalFilters(Schema):
    """Filters of the list."""

    view: Literal["open", "snoozed", "closed"] = "open"
    location: Location = ""
    after: After = ""
    limit: Limit = USUAL_ROWS


class ApprovePrice(Given):
    """Write the proposed price."""

    action: Literal["approve"]
    revision: Revision


class RejectPrice(Given):
    """Reject the price. The rules propose no price for the item during its cool-down."""

    action: Literal["reject"]
    revision: Revision
    reason: Annotated[Text, Field(min_length=1)]


ProposalCommand = Annotated[ApprovePrice | RejectPrice | Snooze, Field(discriminator="action")]


class ProposalDecided(Schema):
    """The result of a decision.

    `outcome` is `approved_before` if an earlier approval has written the price.
    """

    proposal_id: str
    outcome: Literal["approved", "approved_before", "rejected", "snoozed"]
    price_id: int | None = None
    price_minor: int | None = None
    currency: str
    effective_from: datetime | None = None


@router.get("/prices", auth=Token(PRICES_READ, SEE), response=PricePage, operation_id="listPrices")
def list_prices(request: HttpRequest, given: Query[PriceFilters]) -> PricePage:
    """List the prices in force at the locations of the token's owner."""
    filters = Filters(location=given.location)
    found = stock_page(filters, place=Place(position_of(given.after)), rows=given.limit + 1)
    rows, following = split_page(found.rows, given.limit, lambda row: row.inv_key)
    items = [
        described(CurrentPrice, row, currency=currency(), priced_at=time_of(row.priced_at_us))
        for row in rows
    ]
    return PricePage(items=items, next=following)


@router.get(
    "/prices/{location}/{code:sku}",
    auth=Token(PRICES_READ, SEE),
    response=ItemPrices,
    operation_id="getPrices",
)
def get_prices(request: HttpRequest, location: str, sku: SkuInPath) -> ItemPrices:
    """Return the timeline of one item's prices."""
    key = f"{location}|{sku}"
    as_of = database_now()
    item = priced_item(key)
    if item is None:
        message = f"{key} is not ranged: only a ranged item has prices"
        raise Http404(message)
    rows = price_rows(key)
    steps = [described(PriceStep, row) for row in rows]
    further = {"newest_id": last_id(rows), "prices": steps, "as_of": as_of}
    return described(ItemPrices, item, currency=currency(), **further)


@router.post(
    "/prices/{location}/{code:sku}",
    auth=Token(PRICES_WRITE, DECIDE_PRICES),
    response=PriceSet,
    operation_id="changePrice",
)
def change_price(
    request: HttpRequest, location: str, sku: SkuInPath, body: PriceCommand, command_id: CommandId
) -> PriceSet:
    """Set a price, or roll back the last change."""
    common: dict[str, Any] = {"actor": caller_of(request).name, "command_id": command_id}
    match body:
        case Set():
            wanted = SetPrice(
                location,
                sku,
                body.price_minor,
                body.kind,
                shown_price_id=body.newest_id,
                is_confirmed=body.confirmed,
                reason=body.reason,
            )
            return PriceSet(price_id=set_price(wanted, **common))
        case RollBack():
            shown: dict[str, Any] = {"shown_price_id": body.newest_id, "reason": body.reason}
            done = roll_back_price(location=location, sku=sku, **shown, **common)
            return PriceSet(price_id=done)
        case _:
            assert_never(body)


@router.get(
    "/price-proposals",
    auth=Token(PRICES_READ, SEE),
    response=ProposalPage,
    operation_id="listPriceProposals",
)
def list_proposals(request: HttpRequest, given: Query[ProposalFilters]) -> ProposalPage:
    """List open, snoozed or closed proposed prices."""
    found = price_proposals(
        view=given.view,
        location=given.location,
        after=position_of(given.after),
        rows=given.limit + 1,
    )
    rows, following = split_page(found, given.limit, lambda row: row.proposal_id)
    age = age_of([row.inv_key for row in rows])
    return ProposalPage(items=[_proposal(row) for row in rows], next=following, **age)


@router.get(
    "/price-proposals/{path:proposal_id}",
    auth=Token(PRICES_READ, SEE),
    response=ProposalAnswer,
    operation_id="getPriceProposal",
)
def get_proposal(request: HttpRequest, proposal_id: str) -> ProposalAnswer:
    """Return one proposed price."""
    row = price_proposal(proposal_id)
    if row is None:
        message = f"no proposed price {proposal_id} exists at this token's locations"
        raise Http404(message)
    return ProposalAnswer(item=_proposal(row), **age_of([row.inv_key]))


@router.post(
    "/price-proposals/{path:proposal_id}",
    auth=Token(PRICES_WRITE, DECIDE_PRICES),
    response=ProposalDecided,
    operation_id="decidePriceProposal",
)
def decide_proposal(
    request: HttpRequest, proposal_id: str, body: ProposalCommand, command_id: CommandId
) -> ProposalDecided:
    """Approve, reject or snooze one proposed price."""
    common: dict[str, Any] = {
        "proposal_id": proposal_id,
        "shown_revision": body.revision,
        "actor": caller_of(request).name,
        "command_id": command_id,
    }
    named: dict[str, Any] = {"proposal_id": proposal_id, "currency": currency()}
    match body:
        case ApprovePrice():
            done = approve_price(**common)
            is_new = isinstance(done, PriceWritten)
            outcome: Any = "approved" if is_new else "approved_before"
            return described(ProposalDecided, done, **named, outcome=outcome)
        case RejectPrice():
            reject_price(**common, reason=body.reason)
            return ProposalDecided(**named, outcome="rejected")
        case Snooze():
            length = timedelta(days=body.days)
            snooze_price(**common, until_at=length, reason=body.reason)
            return ProposalDecided(**named, outcome="snoozed")
        case _:
            assert_never(body)


def _proposal(row: PriceProposal) -> Proposal:
    further = {"id": row.proposal_id, "currency": currency(), "as_of": time_of(row.as_of_us)}
    times = {
        "effective_at": time_of(row.effective_at_us),
        "blocked_until": time_of(row.blocked_until_us),
    }
    return described(Proposal, row, **further, **times)
