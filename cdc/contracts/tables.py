"""The tables, views and functions of Postgres that packages other than `ledger` use.

SQL statements in the code contain names as plain text, so that people can search for them and run
the statements (decision 0030). One test fails if a statement has a name that is not in this module.
Another fails if a name or column of this module doesn't exist in Postgres. Code that builds SQL
imports names and columns from here.
"""

from collections.abc import Mapping
from typing import Final, LiteralString

from cdc.contracts.topics import CAPTURED, REFERENCE_TABLES

Columns = Mapping[str, LiteralString]  # Postgres types by column name

PRODUCT: Final = "retail.product"
LOCATION: Final = "retail.location"
SUPPLIER: Final = "retail.supplier"
GTIN: Final = "retail.gtin"
SUPPLIER_CODE: Final = "retail.supplier_code"
REORDER_PROPOSAL: Final = "app.reorder_proposal"
PRICE_PROPOSAL: Final = "app.price_proposal"
STOCK: Final = "read_model.stock"
SALES_WINDOW: Final = "read_model.sales_window"
LATE_SALE: Final = "read_model.late_sale"
REJECTED: Final = "read_model.rejected"
HEARTBEAT: Final = "read_model.heartbeat"

# Tables of the read model that the projector fills. A projector empties these tables first if they
# were filled by another logic revision.
FROM_THE_LOG: Final = (STOCK, SALES_WINDOW, LATE_SALE, REJECTED, HEARTBEAT)
RELATIONS: Final = frozenset(
    {
        *(f"retail.{table}" for table in (*CAPTURED, *REFERENCE_TABLES)),
        *("retail.debezium_signal", "retail.movement", "retail.inbound", "retail.approved_count"),
        *("app.revision_switch", "app.rejected_mark", "app.purchase_order"),
        *("app.pending_send", "app.pending_item", "app.scorecard"),
        *("read_model.sink_position", "read_model.service_heartbeat"),
        *("read_model.service_error", "read_model.restore"),
        *("app.action_log", "app.adjustment_request", "app.count_entry", "app.count_sheet"),
        *("app.setting", "app.task", "app.location_region", "app.membership", "app.invitation"),
        *("app.auth_group", "app.auth_user", "app.auth_user_groups", "app.django_session"),
        *("app.login_count", "app.refusal", "app.second_factor", "app.api_token"),
        *("app.diff_review", "app.diff_review_key", "app.diff_verdict", "app.proof"),
        "app.history_difference",
        *(GTIN, SUPPLIER_CODE, REORDER_PROPOSAL, PRICE_PROPOSAL, *FROM_THE_LOG),
    }
)
FUNCTIONS: Final = frozenset(
    {
        *("retail.business_at", "retail.price_at", "retail.stock_facts", "retail.stock_split"),
        *("retail.inbound_documents", "retail.whereabouts"),
        *("retail.search_words", "retail.search_terms"),
        *("retail.search_shapes", "retail.word_shapes"),
        *("app.count_tolerance", "app.expected_at", "app.key_text", "app.is_item"),
    }
)

STOCK_COLUMNS: Final[Columns] = {
    "inv_key": "text",
    "location": "text",
    "sku": "text",
    "on_hand_units": "bigint",
    "unavailable_units": "bigint",
    "on_order_units": "bigint",
    "in_transit_units": "bigint",
    "allocated_units": "bigint",
    "available_to_sell_units": "bigint",
    "stock_known": "boolean",
    "base_position_units": "bigint",
    "requested_units": "bigint",
    "reorder_point_units": "bigint",
    "order_up_to_units": "bigint",
    "demand_rate_micro": "bigint",
    "price_minor": "bigint",
    "price_step": "int",
    "episode_state": "text",
    "reorder_id": "text",
    "price_proposal_id": "text",
    "policy_active": "boolean",
    "stream_time_us": "bigint",
    "generation": "int",
    "partition": "int",
    "offset": "bigint",
    "logic_revision": "int",
    "as_of_us": "bigint",
    "state": "text",
}
SALES_WINDOW_COLUMNS: Final[Columns] = {
    "inv_key": "text",
    "start_us": "bigint",
    "sold_units": "bigint",
    "returned_units": "bigint",
    "sale_lines": "bigint",
    "return_lines": "bigint",
    "revenue_minor": "bigint",
    "late_lines": "bigint",
    "window_revision": "bigint",
    "partition": "int",
    "offset": "bigint",
}
LATE_SALE_COLUMNS: Final[Columns] = {
    "id": "text",
    "inv_key": "text",
    "units": "bigint",
    "amount_minor": "bigint",
    "reason": "text",
    "generation": "int",
    "partition": "int",
    "offset": "bigint",
    "commit_us": "bigint",
}
REJECTED_COLUMNS: Final[Columns] = {
    "id": "text",
    "generation": "int",
    "partition": "int",
    "offset": "bigint",
    "key": "bytea",
    "value": "bytea",
    "reason": "text",
    "stage": "text",
    "detail": "text",
    "logic_revision": "int",
    "commit_us": "bigint",
}
HEARTBEAT_COLUMNS: Final[Columns] = {
    "partition": "int",
    "beat": "bigint",
    "commit_us": "bigint",
    "applied_at": "timestamptz",
}
_PROPOSAL_COLUMNS: Final[Columns] = {
    "inv_key": "text",
    "location": "text",
    "sku": "text",
    "revision": "int",
    "status": "text",
    "reason": "text",
    "terms": "jsonb",
    "logic_revision": "int",
    "position": "jsonb",
    "as_of_us": "bigint",
}
REORDER_PROPOSAL_COLUMNS: Final[Columns] = {
    "reorder_id": "text",
    "supplier": "text",
    "cost_minor": "bigint",
    "quantity_units": "bigint",
    "base_position_units": "bigint",
    "reorder_point_units": "bigint",
    "order_up_to_units": "bigint",
    "flags": "text[]",
    **_PROPOSAL_COLUMNS,
}
PRICE_PROPOSAL_COLUMNS: Final[Columns] = {
    "proposal_id": "text",
    "old_minor": "bigint",
    "new_minor": "bigint",
    "regular_minor": "bigint",
    "floor_minor": "bigint",
    "step": "int",
    "signal": "text",
    "clamps": "text[]",
    "effective_at_us": "bigint",
    "prior_minor": "bigint",
    **_PROPOSAL_COLUMNS,
}

# Code outside `ledger` builds SQL from these columns.
COLUMNS: Final[Mapping[str, Columns]] = {
    STOCK: STOCK_COLUMNS,
    SALES_WINDOW: SALES_WINDOW_COLUMNS,
    LATE_SALE: LATE_SALE_COLUMNS,
    REJECTED: REJECTED_COLUMNS,
    HEARTBEAT: HEARTBEAT_COLUMNS,
    REORDER_PROPOSAL: REORDER_PROPOSAL_COLUMNS,
    PRICE_PROPOSAL: PRICE_PROPOSAL_COLUMNS,
}
