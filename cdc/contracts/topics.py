"""Every topic of the project: one `Topic` each, created by our own admin step.

Auto-creation is off: a topic that springs up with the broker's defaults (one partition, seven days)
loses history silently. Nothing else in the project writes a topic name or its settings.
"""

from dataclasses import dataclass, field
from typing import Final

from inventory.revision import LOGIC_REVISION

PARTITIONS: Final = 12  # fixed for a generation: another count moves every key
CAPTURED: Final = (
    "item_location",
    "sale_line",
    "purchase_order_line",
    "shipment_line",
    "stock_count",
    "stock_adjustment",
    "price_change",
    "reorder_decision",
    "price_decision",
    "pipeline_heartbeat",
)
REFERENCE_TABLES: Final = ("product", "location", "supplier")

_DAY_MS: Final = 86_400_000
_FOREVER: Final = "-1"
# Changelog timestamps are processing time, so a row must outlive window retention plus grace.
_WINDOW_RETENTION_MS: Final = 400 * _DAY_MS
# A level carries the window rows that its chunk changed, each with its moves, and a rejected
# record its original bytes: both outgrow the broker's default of 1 MB, and a refused record stops
# a worker.
LARGEST_RECORD_BYTES: Final = 8_388_608
_LARGE: Final = {"max.message.bytes": str(LARGEST_RECORD_BYTES)}
_COMPACT: Final = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.ms": "3600000",
}
_KEPT: Final = {
    "cleanup.policy": "delete",
    "retention.ms": _FOREVER,
    "retention.bytes": _FOREVER,
    "compression.type": "producer",
}
_COMPACT_DELETE: Final = {
    **_COMPACT,
    "cleanup.policy": "compact,delete",
    "retention.ms": str(_WINDOW_RETENTION_MS),
    "retention.bytes": _FOREVER,
}


@dataclass(frozen=True, slots=True)
class Topic:
    """Name, partitions and the settings on which correctness depends."""

    name: str
    partitions: int = PARTITIONS
    config: dict[str, str] = field(default_factory=dict)


def application_id(revision: int = LOGIC_REVISION) -> str:
    """Consumer group and changelog prefix of one logic revision."""
    return f"inventory-v{revision}"


APP_ID: Final = application_id()
STOCK_EVENTS: Final = "stock.events"
REFERENCE: Final = tuple(f"reference.{table}" for table in REFERENCE_TABLES)
ON_HAND_CHANGELOG: Final = f"{APP_ID}-on_hand-changelog"
SALES_WINDOWS_CHANGELOG: Final = f"{APP_ID}-sales_windows-changelog"
REORDER_EVENTS: Final = "reorder.events"
PRICE_EVENTS: Final = "price.events"
STOCK_LATE: Final = "stock.late"
STOCK_REJECTED: Final = "stock.rejected"

TOPICS: Final = (
    Topic(STOCK_EVENTS, config=_KEPT),
    *(Topic(name, partitions=1, config=_KEPT) for name in REFERENCE),
    Topic(ON_HAND_CHANGELOG, config=_COMPACT | _LARGE),
    Topic(SALES_WINDOWS_CHANGELOG, config=_COMPACT_DELETE),
    Topic(REORDER_EVENTS, config=_COMPACT_DELETE),
    Topic(PRICE_EVENTS, config=_COMPACT_DELETE),
    Topic(STOCK_LATE, config=_KEPT),
    Topic(STOCK_REJECTED, config=_KEPT | _LARGE),
)
