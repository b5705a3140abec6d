"""Locked rows of counting sheets (`app.count_sheet`), and the items on them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ledger.access.scope import require_store
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.refusal_text import moment_text
from ledger.kernel.unscoped_rows import read_all, read_one
from ledger.messages import Message


@dataclass(frozen=True, slots=True)
class OpenSheet:
    """A locked sheet that the person who opened it has not submitted yet."""

    id: int
    location: str
    opened_by: str
    submitted_at: datetime | None


@dataclass(frozen=True, slots=True)
class Tally:
    """The sum of an item's entries on a sheet, and the time of the newest entry."""

    sku: str
    units: int
    counted_at: datetime


def locked_sheet(sheet_id: int, actor: str) -> OpenSheet:
    """Return a sheet, locked until the transaction ends.

    Raise `ServiceError` if the sheet doesn't exist or another person opened it. Raise `Conflict` if
    the sheet was submitted already.
    """
    sql = "SELECT * FROM app.count_sheet WHERE id = %s FOR UPDATE"
    sheet = read_one(OpenSheet, sql, sheet_id)
    if sheet is None:
        refuse("sheet_id", sheet_id, "no such sheet")
    require_store(sheet.location, field="")
    if sheet.opened_by != actor:
        refuse(
            "actor",
            actor,
            Message(
                "this sheet belongs to %(opened_by)s: open a sheet of your own",
                opened_by=sheet.opened_by,
            ),
        )
    if sheet.submitted_at is not None:
        message = Message(
            "sheet %(sheet_id)s was handed in at %(submitted_at)s: open a new one",
            sheet_id=sheet_id,
            submitted_at=moment_text(sheet.submitted_at),
        )
        raise Conflict(message)
    return sheet


def open_tallies(sheet_id: int) -> Sequence[Tally]:
    """Return the sum of each item's entries that belong to no count yet, ordered by SKU."""
    return read_all(
        Tally,
        "SELECT sku, sum(units)::bigint AS units, max(counted_at) AS counted_at"
        " FROM app.count_entry WHERE sheet_id = %s AND NOT is_undone AND count_id IS NULL"
        # Sorted, so that two sheets lock common items in the same order and can't deadlock.
        " GROUP BY sku ORDER BY sku",
        sheet_id,
    )
