"""Blind counting sheets: a person counts items and doesn't see the expected units.

An entry is one scan. Several entries of one item are added up, because people find the same item on
two shelves. Submitting writes one draft count per item. The draft has the time of the item's newest
entry.

A new count of an item voids the item's waiting drafts. The new count is a second count if one of
these drafts needed a second count. A draft needs a second count if a person has asked for one. It
also needs one if the item's stock is known and the draft's variance is above the tolerance.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from inventory.reports.conditions import is_variance_due
from ledger.access.scope import require_store
from ledger.counts.count_sheet import OpenSheet, Tally, locked_sheet, open_tallies
from ledger.items.names import check_location
from ledger.items.scanned import scanned_item
from ledger.kernel import checks
from ledger.kernel.errors import Conflict, ServiceError, refuse
from ledger.kernel.idempotency import Written, run_command
from ledger.kernel.refusal_text import refusal_message
from ledger.kernel.transactions import (
    database_now,
    execute,
    fetch_column,
    fetch_value,
    insert,
    ledger_transaction,
    log_action,
)
from ledger.kernel.unscoped_rows import read_all, read_one
from ledger.messages import Message, as_message, gettext_noop
from ledger.nouns import counted

MOST_ENTRIES: Final = 500


@dataclass(frozen=True, slots=True)
class Entry:
    """One scan: an item and its units. The scanning device generates `entry_id`.

    `sku` may be another code of the item; the item's SKU is stored then. With the code of an outer
    case, `units` are cases. `counted_at` None means now.
    """

    entry_id: UUID
    sku: str
    units: int
    counted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """An entry or item that was not stored: field, value, and the rule that it breaks.

    All other entries of the same call were stored.
    """

    sku: str
    field: str
    value: str
    rule: str
    entry_id: UUID | None = None

    @property
    def why(self) -> str:
        """The refusal as a sentence, without the SKU, for a list that shows the SKU beside it.

        Pages translate it.
        """
        if self.field == "sku":
            return Message("%(rule)s.", rule=as_message(self.rule))
        return refusal_message(ServiceError(self.field, self.value, self.rule))


@dataclass(frozen=True, slots=True)
class Submitted:
    """The ids of the draft counts that were written, and the refused items with their reasons."""

    count_ids: tuple[int, ...]
    refused: tuple[Refused, ...]


@dataclass(frozen=True, slots=True)
class _StoredEntry:
    """The SKU and the units of a stored entry."""

    sku: str
    units: int


@dataclass(frozen=True, slots=True)
class _VoidedDraft:
    """A draft that is void because the same item was counted again."""

    id: int
    units: int
    occurred_at: datetime
    recount_asked: bool


def open_sheet(*, location: str, actor: str, command_id: UUID | None = None) -> int:
    """Open a sheet at a location; return its id. Only `actor` can add entries to it.

    Raise `ServiceError` for a location that doesn't exist.
    """
    problem = checks.location_problem(location)
    if problem:
        refuse("location", location, problem)
    require_store(location)

    def work() -> Written:
        check_location(location)
        sheet_id = fetch_value(
            "INSERT INTO app.count_sheet (location, opened_by) VALUES (%s, %s) RETURNING id",
            location,
            actor,
        )
        log_action(actor=actor, action="open_sheet", subject=location, detail={"sheet": sheet_id})
        return Written(sheet_id)

    return run_command(command_id, "open_sheet", actor, work, Written, content=location).id


def add_entries(*, sheet_id: int, entries: Sequence[Entry], actor: str) -> tuple[Refused, ...]:
    """Store the valid entries; return the others, each with the rule that it breaks.

    An entry that is stored already, with the same id, item and units, is skipped.
    """
    if len(entries) > MOST_ENTRIES:
        refuse(
            "entries",
            len(entries),
            Message(
                "one request may hold at most %(most_entries)s entries", most_entries=MOST_ENTRIES
            ),
        )
    refused: list[Refused] = []
    with ledger_transaction():
        sheet = locked_sheet(sheet_id, actor)
        now, handed_in = database_now(), _handed_in(sheet_id)
        for entry in entries:
            try:
                _store(sheet, entry, now, handed_in)
            except ServiceError as problem:
                refused.append(_refused(entry.sku, problem, entry.entry_id))
    return tuple(refused)


def undo_entry(*, sheet_id: int, entry_id: UUID, actor: str) -> None:
    """Undo one entry of an open sheet.

    Raise `Conflict` if the sheet has no such entry, or if the entry is part of a draft count
    already.
    """
    with ledger_transaction():
        locked_sheet(sheet_id, actor)
        done = execute(
            "UPDATE app.count_entry SET is_undone = true"
            " WHERE sheet_id = %s AND entry_id = %s AND count_id IS NULL",
            sheet_id,
            entry_id,
        )
    if not done:
        message = Message(
            "this entry can't be taken back, because it is not on sheet %(sheet_id)s any more or "
            "is part of a count already: count the item again",
            sheet_id=sheet_id,
        )
        raise Conflict(message)


def submit_sheet(*, sheet_id: int, actor: str) -> Submitted:
    """Write one draft count per item of a sheet; return the counts' ids and the refused items.

    Close the sheet if no item was refused. Otherwise the refused items stay on the open sheet.
    Raise `ServiceError` for a sheet without entries.
    """
    count_ids: list[int] = []
    refused: list[Refused] = []
    with ledger_transaction():
        sheet = locked_sheet(sheet_id, actor)
        tallies = open_tallies(sheet_id)
        if not tallies:
            refuse("entries", 0, "nothing was counted on this sheet yet: count an item first")
        now = database_now()
        for tally in tallies:
            try:
                count_ids.append(_draft(sheet, tally, now, actor))
            except ServiceError as problem:
                refused.append(_refused(tally.sku, problem))
        if not refused:
            execute("UPDATE app.count_sheet SET submitted_at = %s WHERE id = %s", now, sheet_id)
        detail = {"sheet": sheet_id, "counts": count_ids, "refused": len(refused)}
        log_action(actor=actor, action="submit_sheet", subject=sheet.location, detail=detail)
    return Submitted(tuple(count_ids), tuple(refused))


def _handed_in(sheet_id: int) -> Collection[str]:
    """Return the SKUs of the sheet's entries that are part of a count already."""
    sql = "SELECT sku FROM app.count_entry WHERE sheet_id = %s AND count_id IS NOT NULL"
    return frozenset(fetch_column(sql, sheet_id))


def _store(sheet: OpenSheet, entry: Entry, now: datetime, handed_in: Collection[str]) -> None:
    checks.integer("units", entry.units)
    item = scanned_item(sheet.location, entry.sku)
    units = checks.integer("units", entry.units * item.pack_units)
    if _is_stored(entry.entry_id, item.sku, units):
        return
    counted_at = checks.check_business_time("counted_at", entry.counted_at) or now
    if not checks.is_correctable(counted_at, now):
        refuse("counted_at", counted_at, "counted more than 48 h ago: count the item again")
    if item.sku in handed_in:
        rule = gettext_noop(
            "the count of this item on this sheet is already handed in, and a further entry would "
            "replace it: count all units of the item on another sheet"
        )
        refuse("units", units, rule)
    execute(
        "INSERT INTO app.count_entry (entry_id, sheet_id, sku, units, counted_at)"
        " VALUES (%s, %s, %s, %s, %s) ON CONFLICT (entry_id) DO NOTHING",
        entry.entry_id,
        sheet.id,
        item.sku,
        units,
        # The device's clock may be ahead, and a count can't be in the future.
        min(counted_at, now),
    )


def _is_stored(entry_id: UUID, sku: str, units: int) -> bool:
    """Return True if the entry is stored already.

    Raise `ServiceError` if the stored entry has another item or other units. This happens if a
    person goes back in the browser, changes the values, and sends the form again.
    """
    sql = "SELECT sku, units FROM app.count_entry WHERE entry_id = %s"
    stored = read_one(_StoredEntry, sql, entry_id)
    if stored is not None and (stored.sku, stored.units) != (sku, units):
        rule = Message(
            "this form has already saved %(units)s of %(sku)s: check the sheet, and enter these "
            "units again if they are still needed",
            units=counted(stored.units, "unit"),
            sku=stored.sku,
        )
        refuse("units", units, rule)
    return stored is not None


def _refused(sku: str, problem: ServiceError, entry_id: UUID | None = None) -> Refused:
    return Refused(sku, problem.field, str(problem.value), problem.rule, entry_id)


def _draft(sheet: OpenSheet, tally: Tally, now: datetime, actor: str) -> int:
    inv_key = checks.key(sheet.location, tally.sku)
    checks.integer("units", tally.units)
    if not checks.is_correctable(tally.counted_at, now):
        refuse("counted_at", tally.counted_at, "counted more than 48 h ago: count the item again")
    first = _void_drafts(inv_key, now, actor)
    count_id = insert(
        "stock_count",
        {
            "inv_key": inv_key,
            "location": sheet.location,
            "sku": tally.sku,
            "units": tally.units,
            "kind": _kind(inv_key, first),
            "status": "draft",
            "occurred_at": tally.counted_at,
            "recorded_by": actor,
            "counted_by": actor,
            "recount_of": first,
            "sheet_id": sheet.id,
        },
    )
    execute(
        "UPDATE app.count_entry SET count_id = %s"
        " WHERE sheet_id = %s AND sku = %s AND NOT is_undone AND count_id IS NULL",
        count_id,
        sheet.id,
        tally.sku,
    )
    return count_id


def _void_drafts(inv_key: str, now: datetime, actor: str) -> int | None:
    """Void all draft counts of an item, before the caller writes a new count of the item.

    Return the id of the newest draft that needed a second count. The new count is this second
    count, so it can be approved with any variance.

    Return None if no draft needed a second count. The variance of the new count is then checked as
    for any first count.
    """
    execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 10))", f"count {inv_key}")
    # One statement reads and voids: an approval could commit between two statements.
    voided = read_all(
        _VoidedDraft,
        "UPDATE retail.stock_count SET status = 'void', recorded_by = %s"
        " WHERE inv_key = %s AND status = 'draft' RETURNING id, units, occurred_at, recount_asked",
        actor,
        inv_key,
    )
    firsts = [draft.id for draft in voided if _wants_second(inv_key, draft, now)]
    return max(firsts, default=None)


def _wants_second(inv_key: str, draft: _VoidedDraft, now: datetime) -> bool:
    """Return True if the count that replaces this draft is a second count.

    It is one if a person has asked for a recount, or if the item's stock is known and the draft's
    variance is above the tolerance. Return False for a draft older than 48 h.
    """
    if not checks.is_correctable(draft.occurred_at, now):
        return False
    # The expected units are null if the item has no earlier approved count.
    expected: int | None = fetch_value(
        "SELECT CASE WHEN e.stock_known THEN e.expected_units END"
        " FROM app.expected_at(%s, date_trunc('second', %s), %s) e",
        inv_key,
        draft.occurred_at,
        draft.id,
    )
    is_over = expected is not None and is_variance_due(draft.units, expected)
    return draft.recount_asked or is_over


def _kind(inv_key: str, first: int | None) -> str:
    has_count = fetch_value(
        "SELECT EXISTS (SELECT FROM retail.stock_count WHERE inv_key = %s AND status = 'approved')",
        inv_key,
    )
    if not has_count:
        return "opening"  # a first count has no earlier stock, so its variance is no shrink
    return "cycle" if first is None else "recount"
