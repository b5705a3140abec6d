"""The demo retailer's past, written in the order in which it happened.

A replayed key takes its clock from its facts (docs/domain.md 3.1). A receipt written before the
sales of the weeks before it would make those sales too late for any window.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import Final, TypeVar

from webui.ledger.services import (
    Delivered,
    SaleRow,
    place_order_line,
    receive_shipment,
    record_sales,
)
from webui.ledger.services.transactions import fetch_value, ledger_transaction
from webui.trading.retailer import PlannedKey

T = TypeVar("T")
BATCH: Final = 2_000


@dataclass(slots=True)
class _Day:
    """One day of all keys: sales before the key's receipt of that day, receipts, the rest."""

    before: list[SaleRow] = field(default_factory=list)
    receipts: list[PlannedKey] = field(default_factory=list)
    after: list[SaleRow] = field(default_factory=list)


def write_history(keys: list[PlannedKey], seed: int) -> int:
    """Write sales and receipts day by day; lines and receipts that are there already are skipped.

    Returns the number of sale lines in the history.
    """
    days = _by_day(keys, seed)
    for at in sorted(days):
        day = days[at]
        _write_sales(day.before)
        for key in day.receipts:
            _write_receipt(key)
        _write_sales(day.after)
    return sum(len(day.before) + len(day.after) for day in days.values())


def _by_day(keys: list[PlannedKey], seed: int) -> dict[date, _Day]:
    days: dict[date, _Day] = {}
    received = {}
    for key in keys:
        if key.receipt is not None:
            at = received[key.location, key.item.sku] = key.receipt.received_at
            days.setdefault(at.date(), _Day()).receipts.append(key)
    for row in _sale_rows(keys, seed):
        sold_at = row.occurred_at
        day = days.setdefault(sold_at.date(), _Day())
        receipt_at = received.get((row.location, row.sku))
        is_after = receipt_at is not None and receipt_at <= sold_at
        (day.after if is_after else day.before).append(row)
    return days


def _sale_rows(keys: list[PlannedKey], seed: int) -> Iterator[SaleRow]:
    """All lines in the order in which they happened; the source makes a second run harmless."""
    sales = sorted((sale for key in keys for sale in key.sales), key=lambda sale: sale.at)
    for number, sale in enumerate(sales):
        yield SaleRow(
            location=sale.location,
            sku=sale.sku,
            source=f"demo:{seed}:{sales[0].at:%Y-%m-%d}",
            source_ref=str(number),
            quantity_units=sale.units,
            amount_minor=sale.amount_minor,
            occurred_at=sale.at,
        )


def _write_sales(rows: list[SaleRow]) -> None:
    for chunk in chunks(rows):
        record_sales(rows=chunk)


def _write_receipt(key: PlannedKey) -> None:
    receipt = key.receipt
    order_ref = f"PO-H-{key.inv_key}"
    if receipt is None or _is_ordered(order_ref):
        return
    # Together or not at all: the order is what tells a second run that the receipt is there.
    with ledger_transaction():
        line_id = place_order_line(
            location=key.location,
            sku=key.item.sku,
            supplier=key.item.supplier,
            ordered_units=receipt.units,
            order_ref=order_ref,
            ordered_at=receipt.ordered_at,
        )
        receive_shipment(
            purchase_order_line_id=line_id,
            delivered=Delivered(receipt.units, received_at=receipt.received_at),
        )


def _is_ordered(order_ref: str) -> bool:
    found: bool = fetch_value(
        "SELECT EXISTS (SELECT FROM retail.purchase_order_line WHERE order_ref = %s)", order_ref
    )
    return found


def chunks(rows: list[T]) -> Iterable[list[T]]:
    """`rows` in pieces that one statement takes."""
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]
