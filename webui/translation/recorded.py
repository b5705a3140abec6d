"""Codes and texts that programs record, as message ids: actions, questions, answers and jobs.

The audit log records the actions. The process `prover` writes the list of the prepared questions
into Postgres, and the process `automation` the names of its jobs. Pages can't import `analytics`
and `ledger.automation`, which define questions, answers and jobs. So this module lists them again,
and tests compare its lists with the definitions.
"""

from typing import Final

from cdc.contracts.history_requests import CONFIRMED, FORMS
from ledger.ordering import status as orders_status

# Actions of the audit log, as the database has them.
ACTIONS: Final = (
    *("acknowledge_variance", "adjust", "adjustment_limit", "approve_count", "ask_adjustment"),
    *("ask_recount", "count", "open_sheet", "refuse_adjustment", "submit_sheet", "void_count"),
    *("correct_receipt", "order", "policy", "price", "range", "receive", "supplier_terms"),
    *("approve", "reject", "snooze", "resume", "announce_send", "cancel_send"),
    *(f"{action}_order" for action in orders_status.ACTIONS if action != "receive"),
    *("plan_transfer", "ship_transfer", "cancel_transfer", "re_date_transfer"),
    *("add_product", "add_location", "add_supplier", "add_gtin", "add_supplier_code"),
    *("change_product", "change_location", "change_supplier", "change_gtin"),
    *("change_supplier_code", "history", "audit_accepted"),
    *("dismissed_record", "replayed_record"),
    *(f"{verb}_{kind}" for verb in ("asked", "cancelled") for kind in FORMS),
    *(f"confirmed_{kind}" for kind in sorted(CONFIRMED)),
    *("review_requested", "review_approved", "review_rejected", "review_withdrawn"),
    *("register_webhook", "rotate_webhook", "stop_webhook", "resume_webhook", "delete_webhook"),
    *("test_webhook", "replay_webhook", "create_api_token", "end_api_token"),
    *("add_person", "invite_person", "accept_invitation", "disable_person", "enable_person"),
    *("set_roles", "set_places", "set_region", "set_password", "reset_second_factor"),
    *("end_sessions", "login", "login_failed", "login_blocked", "logout", "password_wrong"),
    *("password_changed", "session_ended", "sessions_ended", "second_factor_set"),
    *("second_factor_failed", "second_factor_removed", "second_factor_unreadable"),
)
# Jobs of the automation, see `ledger.automation.__main__`.
JOBS: Final = (
    *("sends", "reorders", "prices", "tasks", "open tasks", "tasks of all items", "scorecard"),
)
# Prepared questions, see `analytics.history.questions`.
QUESTIONS: Final = (
    "How wrong is the learned demand of items with high, medium and low revenue?",
    "How late do the sales of each store arrive, and how many are counted in no window?",
    "How many units could not be sold, because nothing was on hand?",
    "How does demand respond to each step of the price ladder?",
    "How much more did each item sell while its price was reduced?",
    "On which weekdays and at which hours do stores sell?",
    "How much of its available stock has each item sold?",
    "Which stores lose how many units, and why?",
    "Which items have stock, but no sale for two weeks or longer, at locations that have sales?",
    "How fast, how complete and how punctual does each supplier deliver?",
)
# Columns of the answers to the prepared questions, as `webui.desks.history.wording.column_title`
# writes them.
ANSWERS: Final = (
    *("Abc class", "Cause", "Daily milliunits", "Damaged units", "Days without sale"),
    *("Demand mad", "Demand rate", "Elasticity permille", "Empty hours", "Error permille"),
    *("Facts", "Fill permille", "From at", "Hour", "Hours", "Items", "Last sale at"),
    *("Late counted lines", "Lead time hours", "Longest hours", "Lost", "Lost units", "Mean"),
    *("On hand units", "On time permille", "Order lines", "Ordered units", "Over 20 minutes"),
    *("Over a day", "Over an hour", "Over three days", "Price", "Received lines"),
    *("Received units", "Regular", "Regular daily milliunits", "Revenue", "Sale lines"),
    *("Sell through permille", "Share permille", "Sku", "Sold units", "Step", "Stock outs"),
    *("Store", "Supplier", "Uncounted", "Uncounted facts", "Uncounted units", "Units before"),
    *("Units during", "Uplift permille", "Value", "Weekday"),
)
RECORDED: Final = frozenset(
    {*(action.replace("_", " ") for action in ACTIONS), *JOBS, *QUESTIONS, *ANSWERS}
)
