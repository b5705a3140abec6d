"""The names and settings of all topics of the project. No other module defines a topic.

`cdc.capture.admin` creates the topics. Auto-creation is off, because a topic with the broker's
defaults has one partition and deletes its records after seven days.
"""

from dataclasses import dataclass, field
from typing import Final

from inventory.revision import LOGIC_REVISION
from inventory.tables import catalogue

PARTITIONS: Final = 12  # fixed in a generation: another number would move most keys
CAPTURED: Final = tuple(table.name for table in catalogue.CAPTURED)
REFERENCE_TABLES: Final = ("product", "location", "supplier")

_DAY_MS: Final = 86_400_000
_FOREVER: Final = "-1"
# Kafka deletes a record of a `_COMPACT_DELETE` topic after this time. A key without new records
# still needs its last window rows, so the time is far longer than the four retained days.
WINDOW_RETENTION_MS: Final = 400 * _DAY_MS
# A level contains the window rows that its chunk changed, each with its moves. A rejected record
# contains its original bytes. Either record may exceed the broker's default of 1 MB. If the broker
# refuses a record, the worker ends.
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
    "retention.ms": str(WINDOW_RETENTION_MS),
    "retention.bytes": _FOREVER,
}


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. `config` has the settings on which correctness depends, by Kafka's names."""

    name: str
    partitions: int = PARTITIONS
    config: dict[str, str] = field(default_factory=dict)


def application_id(revision: int = LOGIC_REVISION) -> str:
    """Return `inventory-v{revision}`: the consumer group and prefix of the changelog topics."""
    return f"inventory-v{revision}"


@dataclass(frozen=True, slots=True)
class OutputTopics:
    """The names of the topics that only workers of one logic revision write.

    The changelogs always have the revision in their names. The other topics have it from revision 2
    on, so that consumers of `reorder.events` don't get decisions of other rules.
    """

    on_hand_changelog: str
    sales_windows_changelog: str
    reorder_events: str
    price_events: str
    stock_late: str
    stock_rejected: str


def output_topics(revision: int) -> OutputTopics:
    """Return the topic names of one logic revision."""
    app_id = application_id(revision)
    outputs = "" if revision == 1 else f"{app_id}-"
    return OutputTopics(
        on_hand_changelog=f"{app_id}-on_hand-changelog",
        sales_windows_changelog=f"{app_id}-sales_windows-changelog",
        reorder_events=f"{outputs}reorder.events",
        price_events=f"{outputs}price.events",
        stock_late=f"{outputs}stock.late",
        stock_rejected=f"{outputs}stock.rejected",
    )


def topics_of(revision: int) -> tuple[Topic, ...]:
    """Return the topics of one logic revision with their settings."""
    names = output_topics(revision)
    return (
        Topic(names.on_hand_changelog, config=_COMPACT | _LARGE),
        Topic(names.sales_windows_changelog, config=_COMPACT_DELETE),
        Topic(names.reorder_events, config=_COMPACT_DELETE),
        Topic(names.price_events, config=_COMPACT_DELETE),
        Topic(names.stock_late, config=_KEPT),
        Topic(names.stock_rejected, config=_KEPT | _LARGE),
    )


APP_ID: Final = application_id()
STOCK_EVENTS: Final = "stock.events"
REFERENCE: Final = tuple(f"reference.{table}" for table in REFERENCE_TABLES)
_OUTPUT_TOPICS: Final = output_topics(LOGIC_REVISION)
ON_HAND_CHANGELOG: Final = _OUTPUT_TOPICS.on_hand_changelog
SALES_WINDOWS_CHANGELOG: Final = _OUTPUT_TOPICS.sales_windows_changelog
REORDER_EVENTS: Final = _OUTPUT_TOPICS.reorder_events
PRICE_EVENTS: Final = _OUTPUT_TOPICS.price_events
STOCK_LATE: Final = _OUTPUT_TOPICS.stock_late
STOCK_REJECTED: Final = _OUTPUT_TOPICS.stock_rejected

TOPICS: Final = (
    Topic(STOCK_EVENTS, config=_KEPT),
    *(Topic(name, partitions=1, config=_KEPT) for name in REFERENCE),
    *topics_of(LOGIC_REVISION),
)
