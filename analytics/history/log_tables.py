"""Tables of the log: every archived record, the rows in force, and stock after each movement.

A row of a captured table is in force if the last accepted record of its id is not a deletion.
The rules' own check (`inventory.log.validation`) decides which records are accepted. Rejected
records have no effect on any state. Table `rejected` lists them.
"""

from typing import Final

from analytics.history.columns import KEY, OF_LOG, POSITION, Column, HistoryTable
from inventory.log.validation import HEARTBEAT_TABLE
from inventory.tables.captured import (
    BIGINT,
    BOOLEAN,
    COMMON,
    DATE,
    INTEGER,
    TEXT,
    TIME,
    CapturedTable,
)
from inventory.tables.catalogue import CAPTURED

# Names that people use in questions. For all other captured tables, add an s to their own name.
_NAMES: Final = {
    "item_location": "policies",
    "purchase_order_line": "orders",
    "sale_line": "sales",
    "shipment_line": "shipments",
    "stock_adjustment": "adjustments",
    "stock_count": "counts",
}
_OCCURRED: Final = "occurred_at"


def calendar(time: str) -> tuple[Column, ...]:
    """Return the columns that have the day, weekday and hour of the column `time`."""
    return (
        Column("day", DATE, f"UTC day of `{time}`"),
        Column("weekday", INTEGER, "weekday of `day`: 1 is Monday, 7 is Sunday"),
        Column("hour", INTEGER, f"UTC hour of `{time}`, 0 to 23"),
    )


_BUSINESS: Final = (
    Column("business_at", TIME, "business time (domain.md 2.1)"),
    *calendar("business_at"),
)
_WRITTEN: Final = (
    Column("recorded_at", TIME, "time of the row's last write"),
    Column("recorded_by", TEXT, "person who wrote the row; null for the system"),
    Column("committed_at", TIME, "commit time of the row's last write"),
    *POSITION,
)
_COMMON: Final = frozenset(name for name, _kind in COMMON)


def fact_name(captured: str) -> str:
    """Return the name of the table that holds a captured table's rows in force."""
    return _NAMES.get(captured, f"{captured}s")


def has_business_time(table: CapturedTable) -> bool:
    """Return True if each row of the table has exactly one business time."""
    return any(name == _OCCURRED for name, _kind in table.columns)


def own_columns(table: CapturedTable) -> tuple[tuple[str, str], ...]:
    """Return name and type of the columns that only this captured table has."""
    return tuple((name, kind) for name, kind in table.columns if name not in _COMMON)


def _fact_table(table: CapturedTable) -> HistoryTable:
    timed = has_business_time(table)
    own = tuple(Column(name, kind) for name, kind in own_columns(table))
    return HistoryTable(
        name=fact_name(table.name),
        source=OF_LOG,
        grain=f"row of `retail.{table.name}` that is in force",
        columns=(Column("id", BIGINT), *KEY, *(_BUSINESS if timed else ()), *own, *_WRITTEN),
        order=("inv_key", "business_at" if timed else "committed_at", "id"),
    )


LOG: Final = HistoryTable(
    name="log",
    source=OF_LOG,
    grain="archived record of `stock.events`, heartbeats and damaged records included",
    columns=(
        *POSITION,
        Column("generation", INTEGER, "generation of the topic"),
        Column("key", TEXT, "key of the record; � replaces bytes that are not UTF-8"),
        Column("store", TEXT, "part of the key before the bar"),
        Column("sku", TEXT, "part of the key after the bar"),
        Column("table_name", TEXT, "captured table; null for a malformed record"),
        Column("op", TEXT, "c insert, u update, d delete, r snapshot row"),
        Column("committed_at", TIME, "commit time in Postgres"),
        Column("kafka_at", TIME, "time of the record in Kafka"),
        Column("lsn", BIGINT, "position in the write-ahead log"),
        Column("admission", TEXT, "`new`, or why the record has no effect, such as `resent`"),
        Column("value", TEXT, "the record as JSON text, with images `before` and `after`"),
    ),
    order=("offset",),
)
FACTS: Final = {
    table.name: (table, _fact_table(table)) for table in CAPTURED if table.name != HEARTBEAT_TABLE
}
MOVEMENTS: Final = HistoryTable(
    name="movements",
    source=OF_LOG,
    grain="approved count, or other row in force that moves on-hand or unavailable stock",
    columns=(
        *KEY,
        Column("business_at", TIME, "business time (domain.md 2.1)"),
        Column("until_at", TIME, "business time of the key's next movement; null for the last"),
        Column("table_name", TEXT, "captured table of the row"),
        Column("id", BIGINT, "`id` of the row in the captured table"),
        Column(
            "cause",
            TEXT,
            "sale, return, leg of a shipment, reason of an adjustment, kind of a count",
        ),
        Column("on_hand_units", BIGINT, "signed units; for a count, its variance"),
        Column("unavailable_units", BIGINT, "signed units"),
        Column("on_hand_after_units", BIGINT, "on-hand until `until_at` (domain.md 2.4)"),
        Column("stock_known", BOOLEAN, "true from the first count on"),
        *POSITION,
    ),
    order=("inv_key", "business_at"),
)
LOG_TABLES: Final = (LOG, *(table for _captured, table in FACTS.values()), MOVEMENTS)
