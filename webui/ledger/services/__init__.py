"""Every write to the system of record: keyword-only, one transaction each, `actor` says who.

A service checks what a person could get wrong, takes the locks that the rule needs, and writes
facts. What follows from the facts is the workers' business; it comes back by change capture.
"""

from webui.ledger.services.arrivals import Delivered
from webui.ledger.services.errors import Conflict, LedgerError, ServiceError
from webui.ledger.services.history import (
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
from webui.ledger.services.items import (
    RangedItem,
    mark_reviewed,
    range_item,
    range_items,
    set_policies,
    set_policy,
)
from webui.ledger.services.prices import (
    FirstPrice,
    roll_back_price,
    set_first_prices,
    set_price,
    set_price_kill_switch,
)
from webui.ledger.services.purchasing import (
    cancel_order_units,
    confirm_order_line,
    place_order_line,
)
from webui.ledger.services.reference import name_locations, name_products, name_suppliers
from webui.ledger.services.reorders import (
    approve_reorder,
    reject_reorder,
    resume_reorder,
    snooze_reorder,
)
from webui.ledger.services.repricing import approve_price, reject_price, snooze_price
from webui.ledger.services.sales import Recorded, SaleRow, record_sale, record_sales
from webui.ledger.services.shipments import receive_shipment, ship_order_line
from webui.ledger.services.stock import adjust, approve_count, void_count
from webui.ledger.services.transfers import Transfer, receive_transfer, ship_transfer

__all__ = [
    "Conflict",
    "Delivered",
    "FirstPrice",
    "LedgerError",
    "PastAdjustment",
    "PastCount",
    "PastOrder",
    "PastPrice",
    "PastReceipt",
    "PastTransfer",
    "RangedItem",
    "Recorded",
    "SaleRow",
    "ServiceError",
    "ShortLine",
    "Transfer",
    "adjust",
    "approve_count",
    "approve_price",
    "approve_reorder",
    "cancel_order_units",
    "close_past_lines",
    "confirm_order_line",
    "is_past_written",
    "keep_past",
    "mark_reviewed",
    "name_locations",
    "name_products",
    "name_suppliers",
    "place_order_line",
    "range_item",
    "range_items",
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
    "reject_price",
    "reject_reorder",
    "resume_reorder",
    "roll_back_price",
    "set_first_prices",
    "set_policies",
    "set_policy",
    "set_price",
    "set_price_kill_switch",
    "ship_order_line",
    "ship_transfer",
    "snooze_price",
    "snooze_reorder",
    "void_count",
]
