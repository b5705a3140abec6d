"""Every write to the system of record: keyword-only, one transaction each, with the `actor`.

A service checks the input of a person, takes the locks that the rule needs, and writes facts. The
workers derive the consequences of facts; change capture brings the facts to them.
"""

from ledger.counts.adjustments import (
    Asked,
    Wanted,
    approve_adjustment,
    on_hand_sign,
    refuse_adjustment,
    request_adjustment,
    set_adjustment_limit,
    unavailable_sign,
    worth_of,
)
from ledger.counts.approvals import (
    Approved,
    approve_waiting_count,
    ask_for_recount,
    refuse_waiting_count,
)
from ledger.counts.service import adjust, approve_count, void_count
from ledger.counts.sheets import (
    Entry,
    Refused,
    Submitted,
    add_entries,
    open_sheet,
    submit_sheet,
    undo_entry,
)
from ledger.history.service import (
    PastAdjustment,
    PastCount,
    PastOrder,
    PastPrice,
    PastReceipt,
    PastTransfer,
    ShortLine,
    close_past_lines,
    is_past_written,
    keep_past,
    record_past_adjustments,
    record_past_counts,
    record_past_orders,
    record_past_prices,
    record_past_receipts,
    record_past_transfers,
)
from ledger.items.names import name_locations, name_products, name_suppliers
from ledger.items.service import (
    RangedItem,
    mark_reviewed,
    range_item,
    range_items,
    set_policies,
    set_policy,
)
from ledger.kernel.errors import Conflict, LedgerError, ServiceError
from ledger.ordering.lines import (
    cancel_order_units,
    change_order_line,
    confirm_order_line,
    delete_order_line,
    move_due_date,
    place_order_line,
    restore_order_units,
)
from ledger.ordering.orders import send_order
from ledger.ordering.supplier_terms import set_supplier_terms
from ledger.pricing.prices import (
    FirstPrice,
    roll_back_price,
    set_first_prices,
    set_price,
    set_price_kill_switch,
)
from ledger.pricing.proposals import approve_price, reject_price, snooze_price
from ledger.receiving.receipt_rows import Delivered
from ledger.receiving.receipts import LineReceipt, correct_receipt, receive_order, refuse_delivery
from ledger.receiving.shipments import receive_shipment, ship_order_line
from ledger.reorders.approval import Approval, Part
from ledger.reorders.service import (
    approve_reorder,
    approve_reorders,
    reject_reorder,
    resume_reorder,
    snooze_reorder,
    split_reorder,
)
from ledger.sales.service import Recorded, SaleRow, record_sale, record_sales
from ledger.transfers.pair import Transfer
from ledger.transfers.receipts import correct_transfer_receipt, receive_transfer
from ledger.transfers.route import Route
from ledger.transfers.service import (
    cancel_transfer,
    move_transfer_due_date,
    plan_transfer,
    ship_planned_transfer,
    ship_transfer,
)

__all__ = [
    "Approval",
    "Approved",
    "Asked",
    "Conflict",
    "Delivered",
    "Entry",
    "FirstPrice",
    "LedgerError",
    "LineReceipt",
    "Part",
    "PastAdjustment",
    "PastCount",
    "PastOrder",
    "PastPrice",
    "PastReceipt",
    "PastTransfer",
    "RangedItem",
    "Recorded",
    "Refused",
    "Route",
    "SaleRow",
    "ServiceError",
    "ShortLine",
    "Submitted",
    "Transfer",
    "Wanted",
    "add_entries",
    "adjust",
    "approve_adjustment",
    "approve_count",
    "approve_price",
    "approve_reorder",
    "approve_reorders",
    "approve_waiting_count",
    "ask_for_recount",
    "cancel_order_units",
    "cancel_transfer",
    "change_order_line",
    "close_past_lines",
    "confirm_order_line",
    "correct_receipt",
    "correct_transfer_receipt",
    "delete_order_line",
    "is_past_written",
    "keep_past",
    "mark_reviewed",
    "move_due_date",
    "move_transfer_due_date",
    "name_locations",
    "name_products",
    "name_suppliers",
    "on_hand_sign",
    "open_sheet",
    "place_order_line",
    "plan_transfer",
    "range_item",
    "range_items",
    "receive_order",
    "receive_shipment",
    "receive_transfer",
    "record_past_adjustments",
    "record_past_counts",
    "record_past_orders",
    "record_past_prices",
    "record_past_receipts",
    "record_past_transfers",
    "record_sale",
    "record_sales",
    "refuse_adjustment",
    "refuse_delivery",
    "refuse_waiting_count",
    "reject_price",
    "reject_reorder",
    "request_adjustment",
    "restore_order_units",
    "resume_reorder",
    "roll_back_price",
    "send_order",
    "set_adjustment_limit",
    "set_first_prices",
    "set_policies",
    "set_policy",
    "set_price",
    "set_price_kill_switch",
    "set_supplier_terms",
    "ship_order_line",
    "ship_planned_transfer",
    "ship_transfer",
    "snooze_price",
    "snooze_reorder",
    "split_reorder",
    "submit_sheet",
    "unavailable_sign",
    "undo_entry",
    "void_count",
    "worth_of",
]
