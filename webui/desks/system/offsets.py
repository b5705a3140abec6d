"""Offsets that the probes read from the broker, each request with a time limit."""

from collections.abc import Callable
from typing import Any, Final, TypeVar

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec
from django.conf import settings

from cdc.capture.admin import committed_offsets
from cdc.contracts.topics import APP_ID, ON_HAND_CHANGELOG, STOCK_EVENTS
from ledger.kernel.rows import select_value

PROBE_S: Final = 3.0

T = TypeVar("T")


def admin() -> AdminClient:
    """Return a client whose calls end after the time limit of a probe."""
    servers = settings.CONNECTIONS.kafka_bootstrap
    timeout_ms = int(PROBE_S * 1000)
    # Calls raise the errors. The client's own log would also print each error every second.
    return AdminClient(
        {"bootstrap.servers": servers, "socket.timeout.ms": timeout_ms, "log_level": 0}
    )


def ends(client: AdminClient, topic: str) -> dict[int, int]:
    """Return {partition: end offset} of a topic. The next new record will get the end offset."""
    described = client.list_topics(topic, timeout=PROBE_S).topics[topic]
    places: dict[Any, Any] = {
        TopicPartition(topic, number): OffsetSpec.latest() for number in described.partitions
    }
    answers = client.list_offsets(places, request_timeout=PROBE_S)
    return {
        place.partition: answer.result(timeout=PROBE_S).offset for place, answer in answers.items()
    }


def group_lag() -> int:
    """Return the number of source log records after the workers' committed offsets."""
    reached = ends(admin(), STOCK_EVENTS)
    asked = settings.CONNECTIONS.kafka_bootstrap, APP_ID, STOCK_EVENTS, reached
    found = committed_offsets(*asked, timeout_s=PROBE_S)
    return sum(end - found.get(number, 0) for number, end in reached.items())


def projector_lag() -> int | None:
    """Return the projector's lag in changelog records; None if it has stored no position yet."""
    positions = select_value(
        "SELECT sum(next_offset) FROM read_model.sink_position"
        " WHERE sink = 'projector' AND topic = %(topic)s",
        {"topic": ON_HAND_CHANGELOG},
    )
    if positions is None:
        return None
    return max(0, sum(ends(admin(), ON_HAND_CHANGELOG).values()) - int(positions))


def none_without_broker(query: Callable[[], T]) -> T | None:
    """Return the result of `query`, or None on a Kafka error. So a page can show the rest."""
    try:
        return query()
    except KafkaException:
        return None
