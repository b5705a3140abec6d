"""The buyer's words on reorder proposals; approving one writes the order line that answers it."""

from datetime import datetime
from uuid import UUID

from webui.ledger.services import checks
from webui.ledger.services.errors import Conflict, refuse
from webui.ledger.services.items import locked_item
from webui.ledger.services.proposals import (
    REORDERS,
    Word,
    checked_until,
    locked_proposal,
    refuse_if_moved,
    say,
    write_word,
)
from webui.ledger.services.purchasing import place_order_line
from webui.ledger.services.transactions import Row, execute, fetch_one, ledger_transaction, once


def approve_reorder(
    *,
    reorder_id: str,
    shown_revision: int,
    units: int | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """Order what a proposal asks for, or `units` of it: decision and order line in one transaction.

    Returns `{"line_id", "units", "order_ref", "repeated"}`. A second approval of the same need
    orders nothing and returns the first one's line with `repeated` true.
    """
    word = Word(REORDERS, reorder_id, "approve", shown_revision, actor)

    def work() -> Row:
        row = locked_proposal(REORDERS, reorder_id)
        if row["decided_action"] == "approve":
            return _first_approval(row, units)
        refuse_if_moved(row, word, allowed=("open",))
        return _order(row, word, units)

    with ledger_transaction():
        return once(command_id, f"approve {reorder_id}", actor, work)


def _order(row: Row, word: Word, units: int | None) -> Row:
    item = locked_item(location=row["location"], sku=row["sku"])
    ordered = _whole_packs(row["quantity_units"] if units is None else units, item)
    supplier = row["supplier"] or item["supplier"]
    if not supplier:
        refuse("supplier", None, "an order needs a supplier: set one on the item first")
    decision_id = write_word(row, word, units=ordered)
    order_ref = f"PO-{decision_id}"
    line_id = place_order_line(
        location=row["location"],
        sku=row["sku"],
        supplier=supplier,
        ordered_units=ordered,
        order_ref=order_ref,
        reorder_id=word.proposal,
        actor=word.actor,
    )
    execute(
        "UPDATE app.reorder_proposal SET decided_units = %s WHERE reorder_id = %s",
        ordered,
        word.proposal,
    )
    return {"line_id": line_id, "units": ordered, "order_ref": order_ref, "repeated": False}


def _whole_packs(units: int | None, item: Row) -> int:
    ordered = checks.whole("units", units, 1)
    pack = int(item["pack_units"])
    if ordered % pack:
        refuse("units", ordered, f"a multiple of the pack of {pack}")
    return ordered


def _first_approval(row: Row, units: int | None) -> Row:
    line = fetch_one(
        "SELECT id, ordered_units, order_ref FROM retail.purchase_order_line WHERE reorder_id = %s",
        row["reorder_id"],
    )
    if line is None or units not in (None, row["decided_units"]):
        message = f"{row['decided_by']} has already ordered {row['decided_units']}"
        raise Conflict(message)
    return {
        "line_id": line["id"],
        "units": line["ordered_units"],
        "order_ref": line["order_ref"],
        "repeated": True,
    }


def reject_reorder(
    *,
    reorder_id: str,
    shown_revision: int,
    reason: str,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """Refuse a need for now; it may come back under a new id after its hold."""
    given = checks.text("reason", reason)
    word = Word(REORDERS, reorder_id, "reject", shown_revision, actor, None, given)
    return say(word, allowed=("open", "snoozed"), command_id=command_id)


def snooze_reorder(
    *,
    reorder_id: str,
    shown_revision: int,
    until_at: datetime | None = None,
    reason: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """Put a need aside until a time, seven days where none is given."""
    until = checked_until(until_at)
    word = Word(REORDERS, reorder_id, "snooze", shown_revision, actor, until, reason)
    return say(word, allowed=("open", "snoozed"), command_id=command_id)


def resume_reorder(
    *,
    reorder_id: str,
    shown_revision: int | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> Row:
    """End a snooze now."""
    word = Word(REORDERS, reorder_id, "resume", shown_revision, actor)
    return say(word, allowed=("snoozed",), command_id=command_id)
