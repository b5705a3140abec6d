"""Receipts of suppliers' deliveries: expected deliveries, receipts, corrections.

A request has the same fields as the form of the receiving desk, and the same rules check these
fields. For example, units that differ from the expected units need a reason.
"""

from datetime import date, datetime
from typing import Annotated, Literal, assert_never

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema
from pydantic import AfterValidator, Field, StrictInt

from inventory.tables.columns import QUANTITY_MAX
from ledger.kernel.errors import refuse
from ledger.receiving.receipts import MOST_LINES
from ledger.receiving.shipments import line_of_shipment
from ledger.services import Delivered, correct_receipt, receive_order
from webui.accounts.api_tokens import RECEIPTS_READ, RECEIPTS_WRITE
from webui.accounts.roles import RECEIVE
from webui.api.access import Token, caller_of
from webui.api.answers import (
    WHOLE,
    After,
    CommandId,
    Given,
    Id,
    Location,
    Text,
    described,
    position_of,
    refuse_cursor,
    split_page,
)
from webui.desks.orders.lines import order_lines
from webui.desks.orders.order import header
from webui.desks.receiving import listing, queries
from webui.desks.receiving.forms import (
    REASONS,
    ExpectedDelivery,
    expected_rows,
    shown_rows,
    typed_receipts,
)
from webui.shell.forms import Typed

router = Router(tags=["receipts"])
_PAGE_ROWS = 50


def _reason(text: str) -> str:
    if text not in REASONS:
        message = f"one of {', '.join(REASONS)}"
        raise ValueError(message)
    return text


GivenUnits = Annotated[StrictInt, Field(ge=0, le=QUANTITY_MAX), WHOLE]
Reason = Annotated[Text, AfterValidator(_reason), Field(json_schema_extra={"enum": list(REASONS)})]


class DueOrder(Schema):
    """An order with units that have not arrived; `due_on` is its earliest due day."""

    order_ref: str
    location: str
    supplier_name: str
    lines: int
    open_units: int
    in_transit_units: int
    overdue_lines: int
    due_on: date | None


class DuePage(Schema):
    """Orders to receive, the earliest due first."""

    items: list[DueOrder]
    next: str | None


class DueFilters(Schema):
    """Filters of the list; `q` is the reference of an order, or a SKU or other code of an item."""

    location: Location = ""
    q: Annotated[str, Field(max_length=200)] = ""
    after: After = ""
    limit: Annotated[int, Field(ge=1, le=_PAGE_ROWS)] = _PAGE_ROWS


class Expected(Schema):
    """An expected delivery of an order line.

    `shipment_id` is null if the supplier has not announced the delivery. A request that receives it
    repeats `expected_units` and `open_units`.
    """

    line_id: int
    shipment_id: int | None
    sku: str
    name: str
    expected_units: int
    open_units: int


class Receipt(Schema):
    """Goods that arrived. `order_units` count towards the order; further units were not ordered."""

    id: int
    version: str
    line_id: int
    sku: str
    received_units: int
    damaged_units: int
    order_units: int
    received_at: datetime
    recorded_by: str | None
    discrepancy_reason: str | None


class Delivery(Schema):
    """The open lines of an order with their expected deliveries, and its newest 200 receipts."""

    order_ref: str
    location: str
    supplier: str
    expected: list[Expected]
    receipts: list[Receipt]


class ReceivedLine(Given):
    """Units that arrived for one expected delivery; `received_units` excludes damaged ones.

    Damaged units need a reason, and so does a difference from `expected_units`. For refused goods,
    send 0 units and the reason `refused`.
    """

    line_id: Id
    shipment_id: Id | None = None
    expected_units: GivenUnits
    open_units: GivenUnits
    received_units: GivenUnits
    damaged_units: GivenUnits = 0
    reason: Reason | None = None

    @property
    def name(self) -> str:
        """Return the suffix of this delivery's fields in the form of the receiving desk."""
        return f"{self.line_id}-{self.shipment_id or 0}"


class ReceiveLines(Given):
    """Receive the named lines of the order, all of them or none. Its other lines stay open."""

    action: Literal["receive"]
    lines: Annotated[list[ReceivedLine], Field(min_length=1, max_length=MOST_LINES)]


class CorrectReceipt(Given):
    """Replace the units of a receipt that this account recorded in the last 48 hours."""

    action: Literal["correct"]
    receipt_id: Id
    version: Text
    received_units: GivenUnits
    damaged_units: GivenUnits = 0
    reason: Reason | None = None


ReceiptCommand = Annotated[ReceiveLines | CorrectReceipt, Field(discriminator="action")]


class ReceiptDone(Schema):
    """The ids of the receipts, in the order of the request's lines."""

    order_ref: str
    receipt_ids: list[int]


@router.get(
    "/receipts",
    auth=Token(RECEIPTS_READ, RECEIVE),
    response=DuePage,
    operation_id="listDueOrders",
)
def list_due_orders(request: HttpRequest, given: Query[DueFilters]) -> DuePage:
    """List sent orders with units that have not arrived."""
    found = listing.due_orders(
        location=given.location, text=given.q, after=_place(given.after), rows=given.limit + 1
    )
    shown, following = split_page(found, given.limit, _position)
    return DuePage(items=[described(DueOrder, row) for row in shown], next=following)


def _position(row: listing.DueOrder) -> str:
    """Return due day (empty if none), location and reference of an order, separated by `|`."""
    return f"{row.due_on or ''}|{row.location}|{row.order_ref}"


def _place(after: str) -> tuple[date | None, str, str] | None:
    """Return due day, reference and location of the previous page's last order.

    Return None without a cursor.
    """
    if not after:
        return None
    due_on, _, rest = position_of(after).partition("|")
    location, _, order_ref = rest.partition("|")
    try:
        day = date.fromisoformat(due_on) if due_on else None
    except ValueError:
        refuse_cursor(after)
    if not location or not order_ref:
        refuse_cursor(after)
    return day, order_ref, location


@router.get(
    "/receipts/{path:order_ref}",
    auth=Token(RECEIPTS_READ, RECEIVE),
    response=Delivery,
    operation_id="getDelivery",
)
def get_delivery(request: HttpRequest, order_ref: str) -> Delivery:
    """Return the expected deliveries and the receipts of one order."""
    head = header(order_ref)
    if head is None:
        raise Http404(_unknown(order_ref))
    rows = expected_rows(order_lines(order_ref), queries.announced(order_ref))
    return described(
        Delivery,
        head,
        expected=[_expected(row) for row in rows],
        receipts=[described(Receipt, row) for row in queries.receipts(order_ref)],
    )


def _unknown(order_ref: str) -> str:
    return f"no order {order_ref} exists at this token's locations"


def _expected(row: ExpectedDelivery) -> Expected:
    line = row.line
    return described(
        Expected, row, line_id=line.id, sku=line.sku, name=line.name, open_units=line.open_units
    )


@router.post(
    "/receipts/{path:order_ref}",
    auth=Token(RECEIPTS_WRITE, RECEIVE),
    response=ReceiptDone,
    operation_id="receiveDelivery",
)
def receive_delivery(
    request: HttpRequest, order_ref: str, body: ReceiptCommand, command_id: CommandId
) -> ReceiptDone:
    """Receive lines of an order fully or partly, or correct a receipt."""
    lines = order_lines(order_ref)
    if not lines:
        raise Http404(_unknown(order_ref))
    actor = caller_of(request).name
    match body:
        case ReceiveLines():
            for number in [given.line_id for given in body.lines]:
                if number not in {line.id for line in lines}:
                    refuse("line_id", number, f"a line of order {order_ref}")
            typed = _typed(body)
            receipts = typed_receipts(shown_rows(typed, lines), typed)
            ids = receive_order(receipts=receipts, actor=actor, command_id=command_id)
            return ReceiptDone(order_ref=order_ref, receipt_ids=ids)
        case CorrectReceipt():
            if line_of_shipment(body.receipt_id) not in {line.id for line in lines}:
                refuse("receipt_id", body.receipt_id, f"a receipt of order {order_ref}")
            done = correct_receipt(
                shipment_line_id=body.receipt_id,
                delivered=Delivered(
                    body.received_units, body.damaged_units, discrepancy_reason=body.reason
                ),
                shown_version=body.version,
                actor=actor,
                command_id=command_id,
            )
            return ReceiptDone(order_ref=order_ref, receipt_ids=[done.shipment_id])
        case _:
            assert_never(body)


def _typed(body: ReceiveLines) -> Typed:
    """Return the lines as {name of a field: text} in the form of the receiving desk.

    Raises:
        ServiceError: two lines are of the same expected delivery.
    """
    typed: Typed = {"accept": "typed"}
    for given in body.lines:
        if f"shown-{given.name}" in typed:
            refuse("lines", given.line_id, "each expected delivery once")
        typed |= {
            f"shown-{given.name}": str(given.open_units),
            f"expected-{given.name}": str(given.expected_units),
            f"received-{given.name}": str(given.received_units),
            f"damaged-{given.name}": str(given.damaged_units),
            f"reason-{given.name}": given.reason or "",
        }
    return typed
