"""Transfers between locations: list, plan, ship, receive, correct, cancel."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from typing import Annotated, Any, Literal, assert_never

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field

from cdc.contracts.times import moment_of, us_of
from ledger.access.scope import RowOutOfScope
from ledger.kernel.errors import Conflict, FormReused
from ledger.kernel.rows import select_value
from ledger.services import (
    Delivered,
    Route,
    ShipTransfer,
    cancel_transfer,
    correct_transfer_receipt,
    plan_transfer,
    receive_transfer,
    ship_planned_transfer,
    ship_transfer,
)
from webui.accounts.api_tokens import NEEDS_DECIDE, TRANSFERS_READ, TRANSFERS_WRITE
from webui.accounts.roles import DECIDE_REORDERS, SEE_TRANSFERS, TRANSFER
from webui.api.access import Caller, Token, caller_of
from webui.api.answers import (
    USUAL_ROWS,
    After,
    CommandId,
    Day,
    Flag,
    Given,
    Limit,
    Location,
    Text,
    Units,
    described,
    position_of,
    refuse_cursor,
    split_page,
)
from webui.api.problems import Problem
from webui.api.receipts import GivenUnits
from webui.desks.transfers.queries import TransferRow, transfers

router = Router(tags=["transfers"])
TransferId = Annotated[int, Path(ge=1, le=2**63 - 1, description="The `id` of a transfer.")]
Place = Annotated[Text, Field(min_length=1, max_length=24)]
_LATEST_US = us_of(datetime.max.replace(tzinfo=UTC))


class Transfer(Schema):
    """A transfer. `lost_units` were shipped, but did not arrive.

    They are null before the receipt, and negative if more units arrived than were shipped.
    """

    id: int
    transfer_ref: str
    sku: str
    name: str
    source: str
    destination: str
    status: str
    planned_units: int
    shipped_units: int
    received_units: int
    damaged_units: int
    lost_units: int | None
    shipped_at: datetime | None
    received_at: datetime | None
    due_on: date | None
    need_id: str | None
    discrepancy_reason: str | None
    recorded_by: str | None
    is_stuck: bool


class TransferPage(Schema):
    """Transfers, the oldest first; in the view `received`, the newest first."""

    items: list[Transfer]
    next: str | None


class TransferFilters(Schema):
    """Filters of the list. `stuck` transfers were shipped, and due three or more days ago."""

    view: Literal["moving", "stuck", "received"] = "moving"
    location: Location = ""
    after: After = ""
    limit: Limit = USUAL_ROWS


class PlanTransfer(Given):
    """Ask the source for units.

    With `need_id`, the transfer takes the place of an order for this need. Then the token needs the
    scope `needs:decide`, and its owner the right to decide reorders.
    """

    action: Literal["plan"]
    source: Place
    destination: Place
    sku: Annotated[Text, Field(min_length=1, max_length=32)]
    units: Units
    due_on: Day | None = None
    need_id: Text | None = None


class ShipUnplanned(Given):
    """Units that have left without a plan. Units beyond the source's stock need `beyond_stock`."""

    action: Literal["ship"]
    source: Place
    destination: Place
    sku: Annotated[Text, Field(min_length=1, max_length=32)]
    units: Units
    due_on: Day | None = None
    need_id: Text | None = None
    beyond_stock: Flag = False


NewTransfer = Annotated[PlanTransfer | ShipUnplanned, Field(discriminator="action")]


class TransferMade(Schema):
    """The id and the reference of a new transfer."""

    id: int
    transfer_ref: str


class ShipPlanned(Given):
    """Units of a planned transfer that have left. The source's store sends this command."""

    action: Literal["ship"]
    units: Units
    beyond_stock: Flag = False


class ReceiveTransfer(Given):
    """Units that arrived. The destination's store sends this command.

    `received_units` excludes damaged ones.

    A difference from the shipped units needs a reason.
    """

    action: Literal["receive"]
    received_units: GivenUnits
    damaged_units: GivenUnits = 0
    reason: Text | None = None


class CorrectTransfer(Given):
    """Replace the units of a receipt that this account recorded in the last 48 hours."""

    action: Literal["correct"]
    received_units: GivenUnits
    damaged_units: GivenUnits = 0
    reason: Text | None = None


class CancelTransfer(Given):
    """Cancel a planned transfer: its units are no longer on order."""

    action: Literal["cancel"]


TransferCommand = Annotated[
    ShipPlanned | ReceiveTransfer | CorrectTransfer | CancelTransfer, Field(discriminator="action")
]


class TransferDone(Schema):
    """The result of a command. A receipt also has `lost_units`, the units lost on the way."""

    transfer_id: int
    action: str
    lost_units: int | None = None


@router.get(
    "/transfers",
    auth=Token(TRANSFERS_READ, SEE_TRANSFERS),
    response=TransferPage,
    operation_id="listTransfers",
)
def list_transfers(request: HttpRequest, given: Query[TransferFilters]) -> TransferPage:
    """List the transfers of a view: `moving` (planned or on their way), `stuck` or `received`."""
    after = _place(given.after)
    found = transfers(view=given.view, location=given.location, after=after, rows=given.limit + 1)
    shown, following = split_page(found, given.limit, _position)
    items = [
        described(
            Transfer,
            row,
            id=row.in_id,
            need_id=row.reorder_id,
            lost_units=row.lost_units if row.status == "received" else None,
        )
        for row in shown
    ]
    return TransferPage(items=items, next=following)


def _position(row: TransferRow) -> str:
    """Return the time of receipt and the id of a transfer, separated by `|`.

    The time is in microseconds since 1970 UTC; it is 0 before the receipt.
    """
    return f"{us_of(row.received_at) if row.received_at else 0}|{row.in_id}"


def _place(after: str) -> tuple[datetime, int] | None:
    """Return time of receipt and id of the previous page's last transfer, None without a cursor."""
    at, _, number = position_of(after).partition("|")
    if not after:
        return None
    if not (at + number).isascii() or not (at.isdigit() and number.isdigit()):
        refuse_cursor(after)
    if int(at) > _LATEST_US or int(number) >= 2**63:
        refuse_cursor(after)
    return moment_of(int(at)), int(number)


@router.post(
    "/transfers",
    auth=Token(TRANSFERS_WRITE, TRANSFER),
    response=TransferMade,
    operation_id="makeTransfer",
)
def make_transfer(request: HttpRequest, body: NewTransfer, command_id: CommandId) -> TransferMade:
    """Plan a transfer, or record one that has left without a plan."""
    caller = caller_of(request)
    if body.need_id is not None:
        caller.require_scope(NEEDS_DECIDE)
        caller.require_right(DECIDE_REORDERS)
    route = Route(body.source, body.destination, body.sku, body.units, body.due_on)
    common: dict[str, Any] = {"actor": caller.name, "command_id": command_id}
    match body:
        case PlanTransfer():
            made = plan_transfer(route=route, reorder_id=body.need_id, **common)
        case ShipUnplanned():
            allowed = body.beyond_stock
            leaving = ShipTransfer(route, reorder_id=body.need_id, beyond_stock_allowed=allowed)
            made = ship_transfer(leaving, **common)
        case _:
            assert_never(body)
    return TransferMade(id=made.in_id, transfer_ref=made.transfer_ref)


@router.post(
    "/transfers/{int:transfer_id}",
    auth=Token(TRANSFERS_WRITE, TRANSFER),
    response=TransferDone,
    operation_id="moveTransfer",
)
def move_transfer(
    request: HttpRequest, transfer_id: TransferId, body: TransferCommand, command_id: CommandId
) -> TransferDone:
    """Ship, receive, correct or cancel one transfer."""
    common = {"shipment_line_id": transfer_id, "command_id": command_id}
    with _named(transfer_id):
        lost = _move(body, caller_of(request), common)
    return TransferDone(transfer_id=transfer_id, action=body.action, lost_units=lost)


def _move(
    body: ShipPlanned | ReceiveTransfer | CorrectTransfer | CancelTransfer,
    caller: Caller,
    common: dict[str, Any],
) -> int | None:
    common = common | {"actor": caller.name}
    match body:
        case ShipPlanned():
            allowed = body.beyond_stock
            ship_planned_transfer(**common, units=body.units, beyond_stock_allowed=allowed)
            return None
        case CancelTransfer():
            cancel_transfer(**common)
            return None
        case ReceiveTransfer():
            return receive_transfer(**common, delivered=_delivered(body))
        case CorrectTransfer():
            return correct_transfer_receipt(**common, delivered=_delivered(body))
        case _:
            assert_never(body)


def _delivered(body: ReceiveTransfer | CorrectTransfer) -> Delivered:
    return Delivered(body.received_units, body.damaged_units, discrepancy_reason=body.reason)


@contextmanager
def _named(transfer_id: int) -> Iterator[None]:
    """Convert a refusal in the `with` block if it is due to the stores of the token's owner.

    If the owner has neither store of the transfer, raise `Http404`, as for an unknown id. If only
    the transfer's other store may do the step, raise `Problem` with status 403.
    """
    try:
        yield
    except FormReused:
        raise
    except (Conflict, RowOutOfScope) as refusal:
        visible = "SELECT id FROM retail.shipment_line WHERE id = %(id)s"
        if select_value(visible, {"id": transfer_id}) is None:
            raise Http404(str(transfer_id)) from refusal
        if isinstance(refusal, RowOutOfScope):
            detail = "The other end of this transfer does this step. Nothing was changed."
            next_step = "The source ships, the destination receives: use a token of that store."
            raise Problem(403, "other-store", detail, next_step) from refusal
        raise
