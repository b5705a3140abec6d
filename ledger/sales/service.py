"""Services that write sales and returns, singly or in bulk: one row per line of a till receipt."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from inventory.tables.columns import AMOUNT_MAX
from inventory.tables.sale_line import CONDITIONS
from ledger.kernel import checks
from ledger.kernel.bulk_insert import insert_many
from ledger.kernel.errors import Conflict, ServiceError
from ledger.kernel.transactions import (
    UNIQUE_MESSAGES,
    database_now,
    fetch_all,
    fetch_value,
    ledger_transaction,
)
from ledger.messages import gettext_noop


class RecordSale(NamedTuple):
    """One sale line from a till: a sale (quantity > 0) or a return (quantity < 0).

    `source` and `source_ref` together identify the line, so that it is written once. `occurred_at`
    None means now. `condition` describes returned goods: resaleable, damaged or discarded.
    """

    location: str
    sku: str
    source: str
    source_ref: str
    quantity_units: int
    amount_minor: int
    occurred_at: datetime | None = None
    condition: str = "resaleable"

    def check(self) -> None:
        """Raise `ServiceError` with the field that breaks a rule."""
        checks.key(self.location, self.sku)
        checks.text("source", self.source)
        checks.text("source_ref", self.source_ref)
        checks.sale_quantity(self.quantity_units)
        checks.integer("amount_minor", self.amount_minor, -AMOUNT_MAX, AMOUNT_MAX)
        checks.one_of("condition", self.condition, CONDITIONS)
        checks.check_business_time("occurred_at", self.occurred_at)


class Recorded(NamedTuple):
    """The result of a batch: the number of new lines, and of lines that existed already."""

    inserted: int
    skipped: int


COLUMNS: Final = (*RecordSale._fields, "recorded_by")


def record_sale(command: RecordSale, *, actor: str | None = None) -> int:
    """Write one sale line; return its id.

    Raise `Conflict` if a line with this `source` and `source_ref` exists.
    """
    command.check()
    with ledger_transaction():
        if not _insert([command], actor):
            raise Conflict(UNIQUE_MESSAGES["sale_line_source_unique"])
        return int(
            fetch_value(
                "SELECT id FROM retail.sale_line WHERE source = %s AND source_ref = %s",
                command.source,
                command.source_ref,
            )
        )


def record_sales(commands: Sequence[RecordSale], *, actor: str | None = None) -> Recorded:
    """Write sale lines in their order, in one statement; skip lines that exist already.

    Return the numbers of new and of skipped lines. If a line breaks a rule, raise `ServiceError`
    and write none.
    """
    for number, command in enumerate(commands):
        try:
            command.check()
        except ServiceError as problem:
            field = f"rows[{number}].{problem.field}"
            raise ServiceError(field, problem.value, problem.rule) from None
    with ledger_transaction():
        inserted = _insert(commands, actor)
    return Recorded(inserted, len(commands) - inserted)


def recorded_locations(source: str, refs: Sequence[str]) -> dict[str, str]:
    """Return {`source_ref`: location} for the `refs` that belong to recorded lines of `source`."""
    found = fetch_all(
        "SELECT source_ref, location FROM retail.sale_line"
        " WHERE source = %s AND source_ref = ANY(%s)",
        source,
        list(refs),
    )
    return {row["source_ref"]: row["location"] for row in found}


def _insert(commands: Sequence[RecordSale], actor: str | None) -> int:
    """Insert checked lines in one statement; return the number of new lines."""
    if any(command.occurred_at is None for command in commands):
        now = database_now()
        commands = [
            command._replace(occurred_at=now) if command.occurred_at is None else command
            for command in commands
        ]
    values = [(*command, actor) for command in commands]
    return insert_many("sale_line", COLUMNS, values, unless=gettext_noop("source, source_ref"))
