"""The codes and texts that pages translate: message ids for gettext.

Codes such as `sale_line` appear in the database, in files and in the API, where they stay English.
The rules of `inventory` don't depend on Django, so they can't mark their texts for translation.
This module lists these codes and texts as message ids.
"""

from typing import Final

from inventory.errors import REASONS
from inventory.explain.formatting import LABELS, TITLES
from inventory.explain.stock import CAUSES
from inventory.pricing.signals import SIGNALS
from inventory.replenishment.attention import SENTENCES, URGENCIES
from inventory.replenishment.families import FAMILIES
from inventory.reports.sales_spans import SPANS
from inventory.tables import (
    price_change,
    purchase_order_line,
    shipment_line,
    stock_adjustment,
    stock_count,
)
from ledger.access.roles import ROLES
from webui.translation.recorded import RECORDED

# Codes as the database, files and the API write them, with underscores.
_CODES: Final = (
    *("open", "held", "closed", "snoozed", "changes", "decided", "superseded", "expired"),
    *("approved", "rejected", "waiting", "withdrawn", "lapsed", "accepted", "deleted", "sending"),
    *("overdue", "settled", "all", "replayed", "dismissed", "discarded", "cancelled", "done"),
    *("running", "failed", "to_confirm", "unknown", "restoring", "decode", "fold", "refused"),
    *("active", "inactive", "discontinued", "stopped", "dead", "blocked", "stub", "delisted"),
    *("off", "advise", "auto", "fixed", "computed", "up", "nearest", "down", "idle", "pending"),
    *("short", "over", "damaged", "wrong_item", "store", "warehouse", "supplier", "reason"),
    *("week", "region", "sale", "return", "count", "receipt", "transfer", "adjustment", "order"),
    *("reserved", "extended", "unreserved", "lost", "rule", "ordered", "received", "to_send"),
    *("draft", "sent", "on_the_way", "acknowledged", "booked", "stock_count", "price", "need"),
)
# Kinds of facts on an item's page, as `retail.movement_of` and `retail.stock_facts` return them.
# Adjustments have their reason as kind.
_KINDS: Final = (
    *("sale", "return, resaleable", "return, damaged", "return, discarded"),
    *("receipt", "transfer in", "transfer out"),
    *(f"{kind} count" for kind in stock_count.KINDS),
)
# Fields of forms and of the audit log that have no label of their own.
_FIELDS: Final = (
    *("action", "units", "received", "damaged", "location", "name", "person", "roles", "stores"),
    *("regions", "note", "limit", "address", "email", "department", "kind", "supplier", "packs"),
    *("price mode", "opening", "days", "cost", "value", "lines", "pick", "part", "source"),
    *("destination", "record", "count", "request", "sheet", "counts", "price", "stop", "code"),
    *("family", "levels", "label", "rights", "state", "last login", "active people", "username"),
    *("product", "location", "supplier", "reason", "quantity", "url", "events", "scopes", "how"),
    "extra units",
    "number",
    "file",
)
# Notes in explanations of the rules.
_NOTES: Final = (
    *("never counted", "no policy", "replenishment is off", "no reorder point"),
    *("not arrived yet, or rejected", "no price was ever set", "not priced by rules", "no signal"),
    *("no regular price or no record yet", "unknown without the window rows"),
    *("no day was observed yet", "the initial rate", "days that can still change"),
    *("another price than the regular one was in force", "out of stock too long"),
    "no earlier day has a sale, movement or count",
)
_LABELS: Final = (
    *("On hand", "Sales", "Returns", "Receipts", "Transfers", "Adjustments", "Allocated"),
    *("Available to sell", "Unavailable", "In transit", "Last count", "Episode state"),
    *("Requested", "Inventory position", "Cost", "Margin permille", "Floor", "Price reason"),
    *("Demand method", "Demand alpha permille", "Trading windows", "Observed days"),
    *("Quiet windows", "Quantity", "Policy row", "Logic revision", "Stream time", "On order"),
    *("Levels", "Regular price", "Signal", "Order ref"),
    # Labels that `inventory.explain.formatting.label` makes from the name of a line.
    *("Batches", "Business at", "Cover", "Effective at", "Flags", "Gate", "Hold floor"),
    *("Hold until", "Lead time sd", "Limit", "Minimum", "Need revision", "New", "Old"),
    *("Out windows", "Packed", "Price blocked until", "Price proposal", "Price revision"),
    *("Price step", "Proposed", "Protection", "Rate at last sale", "Reason", "Regular"),
    *("Reorder id", "Safety method", "Safety stock", "Signals judged", "Sold"),
    *("Sold last 24h", "Span demand", "Supply", "Target"),
    *("Order quantity", "Cycle", "Review", "Min cover", "Max cover", "Safety"),
)
# Kinds of locations, as Django shows the choices of a model.
_CHOICES: Final = ("Store", "Warehouse")
# Reasons that the sender of webhooks stores when it stops one (`ledger/webhooks/sender.py`).
_STOP_REASONS: Final = ("its token was ended", "its account is disabled")
_DAYS: Final = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# Rights of `webui.accounts.roles`. Pages show them in refusals and in lists of roles.
_RIGHTS: Final = (
    *(
        "see",
        "count",
        "adjust",
        "approve_counts",
        "set_limits",
        "receive",
    ),
    *(
        "see_transfers",
        "transfer",
        "see_orders",
        "manage_orders",
        "reopen_orders",
    ),
    *(
        "range_items",
        "decide_reorders",
        "order_odd_units",
        "decide_prices",
    ),
    *(
        "stop_prices",
        "change_policy",
        "see_rejected_bytes",
        "settle_rejected",
    ),
    *(
        "see_errors",
        "see_audit",
        "see_audit_of_stores",
        "manage_people",
        "manage_staff",
    ),
    *(
        "see_refused_requests",
        "manage_reference_data",
        "see_history",
        "ask_for_history",
    ),
    *(
        "confirm_history",
        "manage_webhooks",
        "oversee_webhooks",
    ),
)
_CODES_OF_TABLES: Final = (
    *(*stock_adjustment.REASONS, *stock_count.KINDS, *stock_count.STATUSES),
    *(*purchase_order_line.STATUSES, *shipment_line.STATUSES, *price_change.KINDS, *SIGNALS),
    *(*REASONS, *_RIGHTS, *(role.code for role in ROLES)),
)
WORDS: Final = frozenset(
    {
        *(code.replace("_", " ") for code in (*_CODES, *_KINDS, *_CODES_OF_TABLES)),
        *(*_FIELDS, *_NOTES, *_LABELS, *_DAYS, *_CHOICES, *TITLES.values(), *LABELS.values()),
        *_STOP_REASONS,
        *RECORDED,
        *(*SENTENCES.values(), *URGENCIES.values(), *CAUSES, *(name for name, _ in SPANS)),
        *(text for family in FAMILIES.values() for text in (family.label, family.summary)),
    }
)
