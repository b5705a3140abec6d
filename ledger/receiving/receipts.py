"""Receipts of several order lines, refusals of deliveries, and corrections of receipts.

A correction updates the row of the receipt. The record of this update has both the old and the new
row, so the fold replaces the effect of the old row in one step. After 48 h a receipt can't be
corrected, because its goods may have been sold or counted. A person then books the difference as an
adjustment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from ledger.kernel import checks
from ledger.kernel.errors import Conflict, refuse
from ledger.kernel.idempotency import run_command
from ledger.kernel.transactions import business_time_or_now, database_now, execute
from ledger.kernel.unscoped_rows import read_all
from ledger.messages import Message, gettext_noop
from ledger.nouns import counted
from ledger.ordering.lines import follow_receipts, open_order_units
from ledger.ordering.order_line import locked_line
from ledger.receiving.receipt_rows import Delivered, log_correction
from ledger.receiving.shipment_line import ShipmentLine, locked_shipment
from ledger.receiving.shipments import line_of_shipment, receive_within

MOST_LINES: Final = 500


@dataclass(frozen=True, slots=True)
class LineReceipt:
    """Goods that arrived for one order line.

    `shipment_line_id` is the supplier's shipment, None if it was not announced. `shown_open_units`
    are the line's open units that the person saw, None for no check.
    """

    line_id: int
    delivered: Delivered
    shipment_line_id: int | None = None
    shown_open_units: int | None = None


@dataclass(frozen=True, slots=True)
class _Received:
    """The stored result of a delivery: the ids of its receipts, in the order of its lines."""

    ids: list[int]


def receive_order(
    *,
    receipts: Sequence[LineReceipt],
    actor: str | None = None,
    command_id: UUID | None = None,
) -> list[int]:
    """Receive 1 to 500 lines of a delivery in one transaction; return the receipts' ids in order.

    If one line is refused, nothing is written. Each line follows the rules of `receive_shipment`.
    If one order line has several receipts, give all of them the same `shown_open_units`: the open
    units before the delivery.
    """
    if not 1 <= len(receipts) <= MOST_LINES:
        refuse(
            "receipts", len(receipts), Message("1 to %(most_lines)s lines", most_lines=MOST_LINES)
        )

    def work() -> _Received:
        # Sorted, so that two deliveries lock common lines in the same order and can't deadlock.
        by_line = sorted(enumerate(receipts), key=lambda pair: (pair[1].line_id, pair[0]))
        ids, shown = dict[int, int](), dict[int, int | None]()
        for number, receipt in by_line:
            # The first receipt of a line locks the line and is checked. Further receipts of the
            # line are not checked, because only this delivery has changed the open units since.
            is_checked = shown.get(receipt.line_id) == receipt.shown_open_units
            ids[number] = _receive(receipt, None if is_checked else receipt.shown_open_units, actor)
            shown[receipt.line_id] = receipt.shown_open_units
        return _Received([ids[number] for number in range(len(receipts))])

    return run_command(command_id, "receive_order", actor, work, _Received, content=[*receipts]).ids


def _receive(receipt: LineReceipt, shown_open_units: int | None, actor: str | None) -> int:
    return receive_within(
        delivered=receipt.delivered,
        shipment_line_id=receipt.shipment_line_id,
        purchase_order_line_id=receipt.line_id,
        shown_open_units=shown_open_units,
        actor=actor,
    )


def refuse_delivery(
    *,
    line_id: int,
    reason: str,
    shipment_line_id: int | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> int:
    """Record that a delivery was refused, as a receipt of 0 units with the reason; return its id.

    The units stay on order.
    """
    given = checks.text("reason", reason)
    delivered = Delivered(0, 0, discrepancy_reason=Message("refused: %(given)s", given=given))
    receipt = LineReceipt(line_id, delivered, shipment_line_id)
    return receive_order(receipts=[receipt], actor=actor, command_id=command_id)[0]


@dataclass(frozen=True, slots=True)
class ReceiptCorrected:
    """A corrected receipt: the units by which it lowers on-order, and the line's open units."""

    shipment_id: int
    order_units: int
    open_units: int


def correct_receipt(
    *,
    shipment_line_id: int,
    delivered: Delivered,
    shown_version: str | None = None,
    actor: str | None = None,
    command_id: UUID | None = None,
) -> ReceiptCorrected:
    """Correct a receipt that `actor` has made: replace its units and its reason, within 48 h.

    Return the receipt's effect on the order line. The time is replaced only if `delivered` has one.
    The order line gets the status that its open units require. A receipt of 0 units needs a reason.
    If the correction opens units of the line, extra units of its other receipts count towards the
    order, oldest receipt first.

    Raises:
        ServiceError: another person received the goods, or a value breaks a rule.
        Conflict: the goods aren't received yet, or arrived more than 48 h ago. Or the receipt has
            changed since `shown_version`.
    """
    delivered.check()

    def work() -> ReceiptCorrected:
        line_id = line_of_shipment(shipment_line_id)
        # Every receipt locks the order line before the shipment, so two receipts can't deadlock.
        line = None if line_id is None else locked_line(line_id)
        receipt = _own_fresh_receipt(shipment_line_id, shown_version, actor)
        delivered.require_reason_if_empty()
        promised = 0 if line is None else open_order_units(line, without_shipment=receipt.id)
        order_units = min(delivered.arrived_units, promised)
        _rewrite(receipt, delivered, order_units, actor)
        open_units = promised - order_units
        extra_units = 0
        if line is not None:
            opened_units = min(open_units, max(0, receipt.order_units - order_units))
            extra_units = _count_extra_units(line.id, receipt.id, opened_units)
            follow_receipts(line.id, actor)
        order_ref = None if line is None else line.order_ref
        log_correction(receipt, delivered, actor, order_ref=order_ref, extra_units=extra_units)
        return ReceiptCorrected(receipt.id, order_units, open_units - extra_units)

    kind = f"correct_receipt {shipment_line_id}"
    return run_command(command_id, kind, actor, work, ReceiptCorrected, content=delivered)


def _own_fresh_receipt(
    shipment_id: int, shown_version: str | None, actor: str | None
) -> ShipmentLine:
    missing = gettext_noop("no such receipt from a supplier")
    receipt = locked_shipment(shipment_id, "supplier_in", missing=missing)
    if receipt.status != "received":
        message = Message(
            "delivery %(shipment_id)s is not received yet: receive it instead",
            shipment_id=shipment_id,
        )
        raise Conflict(message)
    if receipt.recorded_by != actor:
        rule = Message(
            "only %(writer)s, who received this delivery, may correct it: book an adjustment "
            "instead",
            writer=receipt.writer,
        )
        refuse("actor", actor, rule)
    refuse_old_receipt(receipt, database_now())
    if shown_version not in (None, receipt.version):
        # The message names nobody: another person's correction may have changed `order_units`.
        message = Message(
            "delivery %(shipment_id)s has changed since it was shown. Last change %(write_time)s: "
            "now %(received)s received, %(damaged_units)s damaged",
            shipment_id=shipment_id,
            write_time=receipt.write_time,
            received=counted(receipt.received_units, "unit"),
            damaged_units=receipt.damaged_units,
        )
        raise Conflict(message)
    return receipt


@dataclass(frozen=True, slots=True)
class _ExtraUnits:
    """A receipt with more arrived units than count towards the order; `units` is the difference."""

    id: int
    units: int


def _count_extra_units(line_id: int, corrected_id: int, opened_units: int) -> int:
    """Count extra units of other receipts of a locked line towards the order; oldest first.

    Return the number of these units, at most `opened_units`. The receipts keep their authors, who
    alone may correct them.
    """
    extras = read_all(
        _ExtraUnits,
        "SELECT id, received_units + damaged_units - order_units AS units"
        " FROM retail.shipment_line"
        " WHERE purchase_order_line_id = %s AND leg = 'supplier_in' AND id <> %s"
        " AND received_units + damaged_units > order_units"
        " ORDER BY received_at, id FOR UPDATE",
        line_id,
        corrected_id,
    )
    left = opened_units
    for extra in extras:
        units = min(extra.units, left)
        if units:
            execute(
                "UPDATE retail.shipment_line SET order_units = order_units + %s WHERE id = %s",
                units,
                extra.id,
            )
            left -= units
    return opened_units - left


def refuse_old_receipt(receipt: ShipmentLine, now: datetime) -> None:
    """Raise `Conflict` for a receipt whose goods arrived more than 48 h ago."""
    if not checks.is_correctable(receipt.arrived_at, now):
        message = Message(
            "delivery %(id)s was received more than 48 h ago and can't be corrected now: "
            "book an adjustment for the difference",
            id=receipt.id,
        )
        raise Conflict(message)


def _rewrite(
    receipt: ShipmentLine, delivered: Delivered, order_units: int, actor: str | None
) -> None:
    received_at = receipt.arrived_at
    if delivered.received_at is not None:
        received_at = business_time_or_now("received_at", delivered.received_at)
    execute(
        "UPDATE retail.shipment_line SET received_units = %s, damaged_units = %s,"
        " order_units = %s, received_at = %s, discrepancy_reason = %s, recorded_by = %s"
        " WHERE id = %s",
        delivered.received_units,
        delivered.damaged_units,
        order_units,
        received_at,
        delivered.discrepancy_reason,
        actor,
        receipt.id,
    )
