"""Sales: one row per line of a till receipt, singly and in bulk."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from inventory.tables.parsing import AMOUNT_MAX, CONDITIONS
from ledger.kernel import checks
from ledger.kernel.bulk_insert import insert_many
from ledger.kernel.errors import ServiceError
from ledger.kernel.transactions import database_now, insert, ledger_transaction

COLUMNS: Final = (
    "location",
    "sku",
    "source",
    "source_ref",
    "quantity_units",
    "amount_minor",
    "condition",
    "occurred_at",
    "recorded_by",
)


class SaleRow(NamedTuple):
    """A sale (quantity > 0) or a return (quantity < 0), as sent by a till."""

    location: str
    sku: str
    source: str
    source_ref: str
    quantity_units: int
    amount_minor: int
    occurred_at: datetime
    condition: str = "resaleable"


class Recorded(NamedTuple):
    """The result of a batch: rows inserted, and rows that existed already."""

    inserted: int
    skipped: int


def record_sale(  # noqa: PLR0913 -- one keyword per column
    *,
    location: str,
    sku: str,
    quantity_units: int,
    amount_minor: int,
    source: str,
    source_ref: str,
    occurred_at: datetime | None = None,
    condition: str = "resaleable",
    actor: str | None = None,
) -> int:
    """Write one line of a receipt; return its id.

    `(source, source_ref)` identifies the line at its till. A second write raises `Conflict`, and
    nothing reaches the log.
    """
    inv_key = checks.key(location, sku)
    with ledger_transaction():
        return insert(
            "sale_line",
            {
                "inv_key": inv_key,
                "location": location,
                "sku": sku,
                "source": checks.text("source", source),
                "source_ref": checks.text("source_ref", source_ref),
                "quantity_units": checks.sale_quantity(quantity_units),
                "amount_minor": checks.whole("amount_minor", amount_minor, -AMOUNT_MAX, AMOUNT_MAX),
                "condition": checks.one_of("condition", condition, CONDITIONS),
                "occurred_at": checks.happened("occurred_at", occurred_at) or database_now(),
                "recorded_by": actor,
            },
        )


def record_sales(*, rows: Sequence[SaleRow], actor: str | None = None) -> Recorded:
    """Write lines in their order, in one statement; skip lines that are recorded already."""
    for number, row in enumerate(rows):
        _check(row, number)
    values = [
        (
            row.location,
            row.sku,
            row.source,
            row.source_ref,
            row.quantity_units,
            row.amount_minor,
            row.condition,
            row.occurred_at,
            actor,
        )
        for row in rows
    ]
    with ledger_transaction():
        inserted = insert_many("sale_line", COLUMNS, values, unless="source, source_ref")
    return Recorded(inserted, len(rows) - inserted)


def _check(row: SaleRow, number: int) -> None:
    """Refuse a row that SQL would refuse, and name its index."""
    try:
        checks.key(row.location, row.sku)
        checks.sale_quantity(row.quantity_units)
        checks.whole("amount_minor", row.amount_minor, -AMOUNT_MAX, AMOUNT_MAX)
        checks.one_of("condition", row.condition, CONDITIONS)
        checks.happened("occurred_at", row.occurred_at)
    except ServiceError as problem:
        field = f"rows[{number}].{problem.field}"
        raise ServiceError(field, problem.value, problem.rule) from None
