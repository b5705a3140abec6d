"""Locked rows of `retail.purchase_order_line`."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from datetime import date, datetime
from typing import Final

from ledger.access.scope import require_key
from ledger.kernel.errors import refuse
from ledger.kernel.row_parts import Keyed, Stamped
from ledger.kernel.unscoped_rows import read_all, read_one
from ledger.ordering.status import Status


@dataclass(frozen=True, slots=True)
class OrderLine(Keyed, Stamped):
    """One row of `retail.purchase_order_line`, locked; `cost_minor` is the cost of one unit."""

    id: int
    inv_key: str
    location: str
    sku: str
    order_ref: str
    supplier: str
    status: Status
    ordered_units: int
    confirmed_units: int | None
    cancelled_units: int
    ordered_at: datetime
    due_on: date | None
    cost_minor: int | None
    pack_units: int | None
    recorded_at: datetime
    recorded_by: str | None


_SELECT: Final = (
    f"SELECT {', '.join(field.name for field in fields(OrderLine))} FROM retail.purchase_order_line"  # noqa: S608 -- names of the fields above
)


def locked_line(line_id: int) -> OrderLine:
    """Return an order line, locked until the transaction ends.

    Raise `ServiceError` for an unknown id.
    """
    line = read_one(OrderLine, f"{_SELECT} WHERE id = %s FOR UPDATE", line_id)
    if line is None:
        refuse("purchase_order_line_id", line_id, "no such order line")
    require_key(line.inv_key)
    return line


def locked_drafts(order_ref: str) -> Sequence[OrderLine]:
    """Return the draft lines of an order, sorted by id, locked until the transaction ends."""
    sql = f"{_SELECT} WHERE order_ref = %s AND status = 'draft' ORDER BY id FOR UPDATE"
    return read_all(OrderLine, sql, order_ref)
