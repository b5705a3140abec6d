"""The topics of workers that have folded a generated history, as a comparison reads them."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field

from typing_extensions import override

from analytics.backfill.diff.published import Live
from cdc.contracts.topics import STOCK_EVENTS
from inventory.model.ids import InvKey
from inventory.model.state import KeyState
from inventory.revision import LOGIC_REVISION
from streams.engine.loop import handle_chunk
from streams.engine.memory import MemoryBroker
from streams.engine.records import LogRecord, SourceRecord
from streams.engine.restore import restore
from streams.engine.store import OwnedPartition
from tests.analytics.histories import Generated

TOPIC_ID = "id-of-the-topic"  # as recorded by the archives of `tests.analytics.two_runs`


@dataclass(frozen=True)
class Message:
    """A record with the methods of a message of the Kafka client."""

    of: str
    number: int
    record: LogRecord

    def error(self) -> None:
        return None

    def key(self) -> bytes | None:
        return self.record.key

    def value(self) -> bytes | None:
        return self.record.value

    def headers(self) -> list[tuple[str, bytes]]:
        return list(self.record.headers)

    def offset(self) -> int:
        return self.record.offset

    def partition(self) -> int:
        return self.number

    def topic(self) -> str:
        return self.of


class Broker(MemoryBroker):
    """A broker whose `stock.events` has the id that the archive records."""

    @override
    def topic_id(self, topic: str) -> str:
        return TOPIC_ID if topic == STOCK_EVENTS else super().topic_id(topic)


@dataclass
class Workers:
    """Workers with the present rules. `fold` folds each partition up to a given offset."""

    history: Generated
    broker: Broker = field(default_factory=Broker)
    owned: dict[int, OwnedPartition] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, part in self.history.log.items():
            for arrival in part:
                self.broker.produce(STOCK_EVENTS, number, arrival.key, arrival.value)

    def fold(self, ends: dict[int, int], *, chunk: int = 7) -> "Workers":
        for number, end in ends.items():
            asyncio.run(self._fold(number, end, chunk))
        return self

    async def _fold(self, number: int, end: int, chunk: int) -> None:
        owned = await restore(number, 1, self.broker)
        writer = self.broker.writer(number)
        while owned.next_offset < end:
            upto = min(end, owned.next_offset + chunk)
            found = self.broker.topics[STOCK_EVENTS, number][owned.next_offset : upto]
            records = [SourceRecord(one.offset, one.key, one.value) for one in found]
            await handle_chunk(records, owned, writer)
        self.owned[number] = owned

    def live(self, topic_id: str = TOPIC_ID, revision: int = LOGIC_REVISION) -> Live:
        def read(topic: str, number: int) -> Iterator[Message]:
            return (Message(topic, number, one) for one in self.broker.topics[topic, number])

        def state(number: int, key: InvKey) -> KeyState | None:
            return self.owned[number].states.get(key) if revision == LOGIC_REVISION else None

        return Live(revision, topic_id, read, state)
