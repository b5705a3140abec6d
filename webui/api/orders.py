"""Purchase orders and their lines: read, send, confirm, change."""

from datetime import date, datetime
from typing import Annotated, Any, Literal, assert_never

from django.http import Http404, HttpRequest
from ninja import Path, Query, Router, Schema
from pydantic import Field, StrictInt

from inventory.tables.columns import QUANTITY_MAX
from ledger.kernel.transactions import database_now
from ledger.ordering.orders import version_of_drafts
from ledger.services import (
    ChangeOrderLine,
    ConfirmOrderLine,
    LineChanged,
    cancel_order_units,
    change_order_line,
    confirm_order_line,
    delete_order_line,
    move_due_date,
    restore_order_units,
    send_order,
    ship_order_line,
)
from webui.accounts.api_tokens import ORDERS_READ, ORDERS_WRITE
from webui.accounts.roles import MANAGE_ORDERS, ORDER_ODD_UNITS, REOPEN_ORDERS, SEE_ORDERS
from webui.api.access import Caller, Token, caller_of
from webui.api.answers import (
    SUPPLIER,
    WHOLE,
    After,
    CommandId,
    Day,
    Flag,
    Given,
    Location,
    Text,
    Units,
    currency,
    described,
    number_of,
    split_page,
)
from webui.desks.orders import queries as selectors
from webui.desks.orders.lines import order_lines
from webui.desks.orders.order import Header, header
from webui.desks.orders.queries import Filters

router = Router(tags=["orders"])
LineId = Annotated[int, Path(ge=1, le=2**63 - 1, description="The `id` of an order line.")]
Version = Annotated[Text, Field(description="The `version` that was read.")]


class OrderSummary(Schema):
    """An order for one supplier and location. `drafts` is the number of its draft lines.

    `value_minor` is null if a cost isn't known.
    """

    order_ref: str
    status: str
    supplier: str
    supplier_name: str
    location: str
    lines: int
    drafts: int
    overdue_lines: int
    units: int
    open_units: int
    value_minor: int | None
    minimum_order_minor: int
    is_below_minimum: bool
    currency: str
    due_on: date | None
    ordered_at: datetime
    is_automatic: bool


class OrderPage(Schema):
    """Orders, the newest first, read from the ledger at `as_of`."""

    items: list[OrderSummary]
    next: str | None
    as_of: datetime


class OrderLine(Schema):
    """A line of an order. A request that changes the line repeats `version`."""

    id: int
    version: str
    status: str
    location: str
    sku: str
    name: str
    need_id: str | None
    ordered_units: int
    confirmed_units: int | None
    cancelled_units: int
    received_units: int
    damaged_units: int
    in_transit_units: int
    open_units: int
    pack_units: int
    cost_minor: int | None
    value_minor: int | None
    currency: str
    ordered_at: datetime
    due_on: date | None
    is_overdue: bool
    actions: list[str]


class Order(Schema):
    """An order with its lines.

    A request that sends the order repeats `version`, which changes with the draft lines.
    """

    order_ref: str
    version: str
    supplier: str
    supplier_name: str
    supplier_active: bool
    location: str
    location_name: str
    minimum_order_minor: int
    draft_value_minor: int
    currency: str
    is_automatic: bool
    sent_at: datetime | None
    sent_by: str | None
    lines: list[OrderLine]
    as_of: datetime


class OrderFilters(Schema):
    """Filters of the list."""

    view: Literal["draft", "open", "closed"] = "open"
    location: Location = ""
    supplier: Annotated[str, Field(max_length=64, description=SUPPLIER)] = ""
    q: Annotated[
        str, Field(max_length=64, description="Part of an order number, a SKU or a name.")
    ] = ""
    after: After = ""
    limit: Annotated[int, Field(ge=1, le=selectors.PAGE_ROWS)] = selectors.PAGE_ROWS


class Send(Given):
    """Send every draft line. An order below the supplier's minimum needs `below_minimum`."""

    action: Literal["send"]
    version: Version
    below_minimum: Flag = False


class Sent(Schema):
    """An order that was sent to its supplier: number of lines, units and value."""

    order_ref: str
    lines: int
    units: int
    value_minor: int
    currency: str


class Change(Given):
    """Another quantity of a draft line, in full packs.

    A quantity is refused if it is above 100 units and also above ten times the line's units. With
    `confirmed` true it is accepted.
    """

    action: Literal["change"]
    version: Version
    units: Units
    confirmed: Flag = False


class Delete(Given):
    """Delete a draft line; the rules check its need again."""

    action: Literal["delete"]
    version: Version


class Confirm(Given):
    """Units that the supplier confirms, and the due day if it moves.

    `beyond_order` accepts more units than ordered. `close_line` accepts 0 units, which close the
    line.
    """

    action: Literal["confirm"]
    version: Version
    units: Annotated[StrictInt, Field(ge=0, le=QUANTITY_MAX), WHOLE]
    due_on: Day | None = None
    beyond_order: Flag = False
    close_line: Flag = False


class Ship(Given):
    """Units that the supplier has shipped."""

    action: Literal["ship"]
    units: Units


class Cancel(Given):
    """Cancel the open units, and close the line."""

    action: Literal["cancel"]
    version: Version


class MoveDueDay(Given):
    """Give an order line another due day."""

    action: Literal["move_due_day"]
    version: Version
    due_on: Day


class Restore(Given):
    """Put cancelled units of a closed line on order again.

    The token's owner needs the right to reopen orders.
    """

    action: Literal["restore"]
    version: Version
    units: Units


LineCommand = Annotated[
    Change | Delete | Confirm | Ship | Cancel | MoveDueDay | Restore, Field(discriminator="action")
]


class LineDone(Schema):
    """The result of a command on a line. `units` are the deleted, cancelled or shipped units."""

    line_id: int
    action: str
    status: str | None = None
    open_units: int | None = None
    units: int | None = None


@router.get(
    "/orders", auth=Token(ORDERS_READ, SEE_ORDERS), response=OrderPage, operation_id="listOrders"
)
def list_orders(request: HttpRequest, given: Query[OrderFilters]) -> OrderPage:
    """List draft, open or closed orders, the newest first."""
    filters = Filters(given.view, given.location, given.supplier, given.q)
    as_of = database_now()
    found = selectors.orders(filters, before=number_of(given.after))
    rows, following = split_page(found, given.limit, lambda row: row.last_id)
    items = [described(OrderSummary, row, currency=currency()) for row in rows]
    return OrderPage(items=items, next=following, as_of=as_of)


@router.get(
    "/orders/{path:order_ref}",
    auth=Token(ORDERS_READ, SEE_ORDERS),
    response=Order,
    operation_id="getOrder",
)
def get_order(request: HttpRequest, order_ref: str) -> Order:
    """Return one order with its lines."""
    as_of = database_now()
    head = _header(order_ref)
    lines = order_lines(order_ref)
    drafts = [line for line in lines if line.status == "draft"]
    return described(
        Order,
        head,
        version=version_of_drafts([line.recorded_at for line in drafts]),
        draft_value_minor=sum(line.value_minor or 0 for line in drafts),
        currency=currency(),
        lines=[
            described(
                OrderLine,
                line,
                need_id=line.reorder_id,
                currency=currency(),
                actions=[action for action, allowed in line.actions.items() if allowed],
            )
            for line in lines
        ],
        as_of=as_of,
    )


def _header(order_ref: str) -> Header:
    head = header(order_ref)
    if head is None:
        message = f"no order {order_ref} exists at this token's locations"
        raise Http404(message)
    return head


@router.post(
    "/orders/{path:order_ref}",
    auth=Token(ORDERS_WRITE, MANAGE_ORDERS),
    response=Sent,
    operation_id="sendOrder",
)
def send(request: HttpRequest, order_ref: str, body: Send, command_id: CommandId) -> Sent:
    """Send the draft lines of an order to its supplier."""
    _header(order_ref)
    done = send_order(
        order_ref=order_ref,
        below_minimum_allowed=body.below_minimum,
        shown_version=body.version,
        actor=caller_of(request).name,
        command_id=command_id,
    )
    return described(Sent, done, currency=currency())


@router.post(
    "/order-lines/{int:line_id}",
    auth=Token(ORDERS_WRITE, MANAGE_ORDERS),
    response=LineDone,
    operation_id="changeOrderLine",
)
def change_line(
    request: HttpRequest, line_id: LineId, body: LineCommand, command_id: CommandId
) -> LineDone:
    """Change, delete, confirm, ship, cancel or restore one order line, or move its due day."""
    caller = caller_of(request)
    common: dict[str, Any] = {"line_id": line_id, "actor": caller.name, "command_id": command_id}
    match body:
        case Ship():
            ship_order_line(**common, shipped_units=body.units)
            return LineDone(line_id=line_id, action=body.action, units=body.units)
        case Delete():
            gone = delete_order_line(**common, shown_version=body.version)
            return LineDone(line_id=line_id, action=body.action, units=gone.units)
        case Cancel():
            units = cancel_order_units(**common, shown_version=body.version)
            return LineDone(line_id=line_id, action=body.action, units=units)
        case _:
            done = _changed(body, caller, common | {"shown_version": body.version})
            return described(LineDone, done, action=body.action, units=None)


def _changed(
    body: Change | Confirm | MoveDueDay | Restore, caller: Caller, common: dict[str, Any]
) -> LineChanged:
    actor, command_id = common["actor"], common["command_id"]
    match body:
        case Change():
            change = ChangeOrderLine(
                common["line_id"],
                body.units,
                odd_units_allowed=caller.may(ORDER_ODD_UNITS),
                is_confirmed=body.confirmed,
                shown_version=body.version,
            )
            return change_order_line(change, actor=actor, command_id=command_id)
        case MoveDueDay():
            return move_due_date(**common, due_on=body.due_on)
        case Restore():
            allowed = caller.may(REOPEN_ORDERS)
            return restore_order_units(**common, units=body.units, reopening_allowed=allowed)
        case Confirm():
            command = ConfirmOrderLine(
                common["line_id"],
                body.units,
                body.due_on,
                beyond_order_allowed=body.beyond_order,
                closing_allowed=body.close_line,
                shown_version=body.version,
            )
            return confirm_order_line(command, actor=actor, command_id=command_id)
        case _:
            assert_never(body)
