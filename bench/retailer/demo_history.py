"""Write the planned history, day by day, in business order.

A replayed key takes its clock from its facts (docs/domain.md 3.1). So facts must be written in the
order of their times. Otherwise a receipt could come before the sales of earlier weeks, and no
window would count these late sales.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, TypeVar

from bench.retailer.history_values import Day, History
from ledger.kernel.transactions import ledger_transaction
from ledger.services import (
    close_past_lines,
    is_past_written,
    keep_past,
    record_past_adjustments,
    record_past_counts,
    record_past_orders,
    record_past_prices,
    record_past_receipts,
    record_past_transfers,
    record_sales,
)

T = TypeVar("T")
BATCH: Final = 2_000


def write_history(history: History, name: str) -> None:
    """Write every day that no earlier run has written; each day is one transaction."""
    for begins, day in history.days.items():
        part = f"{name}:{begins:%Y-%m-%d}"
        if not is_past_written(name=part):
            _write_day(day, part, begins)


def _write_day(day: Day, part: str, begins: datetime) -> None:
    with ledger_transaction():
        rows = record_past_prices(rows=day.prices)
        rows += record_past_orders(rows=day.orders)
        rows += record_past_transfers(rows=day.transfers)
        rows += record_past_receipts(rows=day.receipts)
        rows += close_past_lines(rows=day.short)
        for chunk in chunks(day.sales):
            rows += record_sales(chunk).inserted
        rows += record_past_adjustments(rows=day.adjustments)
        rows += record_past_counts(rows=day.counts)
        keep_past(name=part, rows=rows, actor=f"history of {begins:%Y-%m-%d}")


def chunks(rows: list[T]) -> Iterable[list[T]]:
    """Yield `rows` in lists of at most 2,000, so that no statement writes more rows."""
    for start in range(0, len(rows), BATCH):
        yield rows[start : start + BATCH]
