"""Tables of one run: the columns of its states, windows, decisions, late and rejected records.

`run_rows` makes their rows.
"""

from typing import Final

from analytics.history.columns import KEY, KEYWORD, OF_RUN, POSITION, TEXTS, Column, HistoryTable
from analytics.history.log_tables import calendar
from inventory.tables.captured import BIGINT, BOOLEAN, INTEGER, TEXT, TIME

STOCK_COLUMNS: Final = (
    Column("on_hand_units", BIGINT, "may be negative"),
    Column("unavailable_units", BIGINT),
    Column("on_order_units", BIGINT),
    Column("in_transit_units", BIGINT),
    Column("sum_movements_units", BIGINT, "all movements since the first record"),
    Column(
        "shrink_units",
        BIGINT,
        "sum of the variances of all counts except opening counts, with the opposite sign",
    ),
)
LEVEL_COLUMNS: Final = (
    Column("base_position_units", BIGINT, "inventory position without the open need (B)"),
    Column("safety_stock_units", BIGINT),
    Column("reorder_point_units", BIGINT, "reorder point s; null while the rules have none"),
    Column("order_up_to_units", BIGINT, "order-up-to level S"),
)
POLICY_COLUMNS: Final = (
    Column("status", TEXT),
    Column("clock_mode", TEXT),
    Column("demand_method", TEXT),
    Column("replenish_family", TEXT),
    Column("levels", TEXT),
    Column("lead_time_centidays", BIGINT),
    Column("lead_time_sd_centidays", BIGINT),
    Column("review_centidays", BIGINT),
    Column("safety_method", TEXT),
    Column("service_z_micro", BIGINT),
    Column("supplier", TEXT),
    Column("cost_minor", BIGINT, "cost of one unit"),
    Column("pack_units", BIGINT),
    Column("moq_units", BIGINT, "least quantity of an order"),
    Column("max_order_units", BIGINT),
    Column("capacity_units", BIGINT),
    Column("auto_max_minor", BIGINT, "largest value of an order that a rule may approve"),
    Column("price_mode", TEXT),
    Column("regular_minor", BIGINT),
    Column("margin_permille", BIGINT),
)
STATES: Final = HistoryTable(
    name="states",
    source=OF_RUN,
    grain="key, at the end of the run; policy columns are null for a key without a policy",
    columns=(
        *KEY,
        Column("stream_time", TIME, "present time of the key for the rules (domain.md 3.1)"),
        *STOCK_COLUMNS,
        Column("stock_known", BOOLEAN, "true if the key has an approved count"),
        Column("allocated_units", BIGINT),
        Column("available_to_sell_units", BIGINT),
        Column("inventory_position_units", BIGINT),
        *LEVEL_COLUMNS,
        Column("demand_rate_micro", BIGINT, "units a day"),
        Column(
            "demand_mad_micro",
            BIGINT,
            "mean absolute deviation of a day's demand from the rate, units a day",
        ),
        Column("observed_days", BIGINT),
        Column("quiet_windows", BIGINT, "trading windows since the last sale"),
        Column("price_minor", BIGINT, "price in force at the stream time"),
        Column("price_step", INTEGER, "0 regular, 1… markdown, -1… raise; null without a price"),
        Column("need_state", TEXT, "idle, open, held-snoozed, held-rejected or held-short"),
        Column("need_id", TEXT),
        Column("need_reason", TEXT),
        Column("requested_units", BIGINT, "quantity of the open need"),
        Column("price_proposal_id", TEXT),
        Column("proposed_minor", BIGINT, "price of the open proposal"),
        *POLICY_COLUMNS,
        Column("generation", INTEGER),
        Column("partition", INTEGER),
        Column("offset", BIGINT, f"offset of the newest record in the state; {KEYWORD}"),
        Column("logic_revision", INTEGER),
    ),
    order=("inv_key",),
)
WINDOW_COLUMNS: Final = (
    Column("sold_units", BIGINT, "returns don't reduce it"),
    Column("returned_units", BIGINT),
    Column("sale_lines", BIGINT),
    Column("return_lines", BIGINT),
    Column("revenue_minor", BIGINT, "returns reduce it"),
    Column("late_lines", BIGINT, "lines that came after the window was closed"),
    Column("window_revision", BIGINT, "changes since the window was closed"),
)
WINDOWS: Final = HistoryTable(
    name="windows",
    source=OF_RUN,
    grain="key and window of ten minutes in which the key had a sale or return line; all windows "
    "since the first record are included",
    columns=(
        *KEY,
        Column("start_at", TIME, "start of the window [start, start + 10 minutes)"),
        Column("end_at", TIME),
        *calendar("start_at"),
        *WINDOW_COLUMNS,
        Column("partition", INTEGER),
    ),
    order=("inv_key", "start_at"),
)
_DECISION: Final = (
    *KEY,
    Column("id", TEXT, "contains generation and offset of the record that opened it"),
    Column("revision", INTEGER, "1 at the opening; of all rows of an `id`, the highest is valid"),
    Column("status", TEXT),
    Column("reason", TEXT),
)
_DECIDED: Final = (
    Column("decided_at", TIME, "commit time of the record that caused the decision"),
    Column("generation", INTEGER),
    *POSITION,
    Column("logic_revision", INTEGER),
)
DECISIONS: Final = HistoryTable(
    name="decisions",
    source=OF_RUN,
    grain="revision of a reorder need",
    columns=(
        *_DECISION,
        Column("quantity_units", BIGINT, "null unless open"),
        Column("supplier", TEXT),
        Column("cost_minor", BIGINT, "cost of one unit at this revision of the need"),
        Column("base_position_units", BIGINT),
        Column("reorder_point_units", BIGINT),
        Column("order_up_to_units", BIGINT),
        Column("flags", TEXTS, "flags of the quantity; each forbids an automatic approval"),
        *_DECIDED,
    ),
    order=("inv_key", "offset"),
)
PRICES: Final = HistoryTable(
    name="prices",
    source=OF_RUN,
    grain="revision of a price proposal; `price_changes` has the prices that came into force",
    columns=(
        *_DECISION,
        Column("signal", TEXT),
        Column("step", INTEGER, "0 regular, 1… markdown, -1… raise"),
        Column("old_minor", BIGINT),
        Column("new_minor", BIGINT),
        Column("prior_minor", BIGINT, "lowest price of the 30 days before a reduction"),
        Column("floor_minor", BIGINT),
        Column("regular_minor", BIGINT),
        Column("effective_at", TIME),
        Column("clamps", TEXTS, "limits that changed the price, in the order of their use"),
        *_DECIDED,
    ),
    order=("inv_key", "offset"),
)
LATE: Final = HistoryTable(
    name="late",
    source=OF_RUN,
    grain="record with a sale or return that no window counts",
    columns=(
        *KEY,
        Column("units", BIGINT, "signed: below 0 for a return or a deleted sale"),
        Column("amount_minor", BIGINT, "signed"),
        Column("reason", TEXT),
        Column("committed_at", TIME),
        *POSITION,
    ),
    order=("inv_key", "offset"),
)
REJECTED: Final = HistoryTable(
    name="rejected",
    source=OF_RUN,
    grain="rejected record",
    columns=(
        Column("key", TEXT, "key of the record; � replaces bytes that are not UTF-8"),
        Column("reason", TEXT),
        Column("stage", TEXT, "step that rejected the record: decode or fold"),
        Column("detail", TEXT),
        Column("committed_at", TIME, "commit time; null if the record's bytes contain none"),
        *POSITION,
        Column("logic_revision", INTEGER),
    ),
    order=("offset",),
)
RUN_TABLES: Final = (STATES, WINDOWS, DECISIONS, PRICES, LATE, REJECTED)
