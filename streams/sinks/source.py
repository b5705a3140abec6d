"""The reader of a sink's topics: all their partitions, from positions that Postgres stores.

A consumer group would store offsets in the broker, where they can't be committed together with the
rows. The reader gets only records of committed transactions. So it never gets a record that a
fenced worker could not commit.
"""

from collections.abc import Iterable, Mapping, Sequence

import structlog
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
)

from inventory.model.value import value

TopicAndPartition = tuple[str, int]  # topic and partition

log = structlog.get_logger(__name__)


@value
class SinkRecord:
    """One committed record of a topic that workers write.

    `topic_id` is the id that the topic had when the sink started to read it, None if unknown.
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    topic_id: str | None = None


class SourceLost(Exception):
    """A topic lacks the next offset of the sink: it was truncated or created again.

    `topic` is its name, "" if it is not known. The sink stops, because it would miss records.
    """

    def __init__(self, problem: str, topic: str = "") -> None:
        super().__init__(f"{topic}: {problem}" if topic else problem)
        self.topic = topic


class SinkSource:
    """A consumer without a group. It returns records in offset order within each partition."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self._ids: Mapping[str, str] = {}
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"sink-{name}",  # the client requires one; nothing is committed to it
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",  # never continue elsewhere if an offset is missing
                # ms for which the broker waits while it has no record
                "fetch.wait.max.ms": 500,
                "queued.max.messages.kbytes": 32_768,
                "allow.auto.create.topics": False,
            }
        )

    def start(
        self,
        topics: Iterable[str],
        partitions: int,
        positions: dict[TopicAndPartition, int],
        ids: Mapping[str, str],
    ) -> None:
        """Start to read all partitions of `topics` at the offsets in `positions`.

        A partition without a position is read from its beginning. `ids` are the topics' ids.
        """
        self._ids = ids
        self._consumer.assign(
            [
                TopicPartition(topic, number, positions.get((topic, number), OFFSET_BEGINNING))
                for topic in topics
                for number in range(partitions)
            ]
        )

    def stop(self) -> None:
        """Read nothing until the next `start`."""
        self._consumer.unassign()

    def batch(self, records: int, timeout_s: float) -> Sequence[SinkRecord]:
        """Return at most `records` records that arrived within `timeout_s`.

        While the broker can't be reached or a topic is missing, a warning is logged.

        Raises:
            SourceLost: a topic lacks the next offset.
            KafkaException: any other error that is not temporary.
        """
        taken: list[SinkRecord] = []
        for message in self._consumer.consume(records, timeout_s):
            record = _record_of(message, self._ids)
            if record is not None:
                taken.append(record)
        return taken

    def close(self) -> None:
        """Disconnect from the broker."""
        self._consumer.close()


def _record_of(message: Message, ids: Mapping[str, str]) -> SinkRecord | None:
    error = message.error()
    if error is None:
        topic = message.topic() or ""
        return SinkRecord(
            topic,
            _known(message.partition()),
            _known(message.offset()),
            _as_bytes(message.key()),
            _as_bytes(message.value()),
            tuple(message.headers() or ()),
            ids.get(topic),
        )
    if error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):  # noqa: SLF001 -- librdkafka's local codes are only published under this name
        raise SourceLost(str(error), message.topic() or "")
    if is_temporary(error):
        log.warning("broker or topic not available", error=str(error))
        return None
    raise KafkaException(error)


def is_temporary(error: KafkaError) -> bool:
    """Return True if the error may end without a person, for example while the broker restarts."""
    return error.retriable() or error.code() in _TRANSIENT


_TRANSIENT = (
    KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001 -- as above
    KafkaError._TRANSPORT,  # noqa: SLF001 -- as above
    KafkaError._RESOLVE,  # noqa: SLF001 -- as above
    KafkaError._TIMED_OUT,  # noqa: SLF001 -- as above
    KafkaError.UNKNOWN_TOPIC_OR_PART,  # the sink waits for a missing topic
)


def _known(number: int | None) -> int:
    if number is None:
        problem = "the broker returned a record without partition or offset"
        raise SourceLost(problem)
    return number


def _as_bytes(content: str | bytes | None) -> bytes | None:
    return content.encode() if isinstance(content, str) else content
