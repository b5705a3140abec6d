"""Counts that another system sends. One command writes a sheet, its entries and its drafts.

The rules are those for sheets that people fill: for example, drafts wait for another person's
approval. Two rules differ:

* If a single item is invalid, the whole command is refused, because no person is there to correct
  the item.
* A time more than 300 s in the future is refused, because the other system may have sent a wrong
  time zone. On a person's sheet, the database's time replaces a future time of the device.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from ledger.counts.sheets import Entry, Refused, add_entries, open_sheet, submit_sheet
from ledger.kernel import checks
from ledger.kernel.errors import refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.transactions import database_now, fetch_all


@dataclass(frozen=True, slots=True)
class CountedItem:
    """Units of an item on the shelf; `counted_at` None means now. Entries of one SKU add up."""

    sku: str
    units: int
    counted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class CountsRecorded:
    """A submitted sheet, and the id of the waiting count of each SKU."""

    sheet_id: int
    count_ids: dict[str, int]


def record_counts(
    *,
    location: str,
    items: Sequence[CountedItem],
    actor: str,
    command_id: UUID | None = None,
) -> CountsRecorded:
    """Record counts of a location; return the sheet and the ids of the counts.

    The counts wait for the approval of another person. Raise `ServiceError` for the first item that
    breaks a rule; nothing is written then.
    """

    def work() -> CountsRecorded:
        now = database_now()
        for item in items:
            counted_at = checks.check_business_time("counted_at", item.counted_at)
            checks.refuse_future("counted_at", counted_at, now)
        sheet_id = open_sheet(location=location, actor=actor)
        entries = [Entry(uuid4(), item.sku, item.units, item.counted_at) for item in items]
        _refuse_any(add_entries(sheet_id=sheet_id, entries=entries, actor=actor))
        _refuse_any(submit_sheet(sheet_id=sheet_id, actor=actor).refused)
        rows = fetch_all(
            "SELECT sku, max(count_id) AS count_id FROM app.count_entry WHERE sheet_id = %s"
            " GROUP BY sku ORDER BY sku",
            sheet_id,
        )
        return CountsRecorded(sheet_id, {str(row["sku"]): int(row["count_id"]) for row in rows})

    kind = f"record_counts {location}"
    return run_command(command_id, kind, actor, work, CountsRecorded, content=[*items])


def _refuse_any(refused: Sequence[Refused]) -> None:
    for one in refused:
        refuse(one.field, f"{one.sku}: {one.value}" if one.field != "sku" else one.sku, one.rule)
