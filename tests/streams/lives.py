"""A worker on the broker in memory, with chunks of any size, crashes and restarts."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cdc.contracts.decode import Malformed, decode
from cdc.contracts.state import encode_state
from cdc.contracts.topics import STOCK_EVENTS
from inventory.fold.partition import Partition
from inventory.fold.record import Refused
from streams.engine.loop import Gap, handle_chunk
from streams.engine.memory import Crash, MemoryBroker
from streams.engine.records import SourceRecord
from streams.engine.restore import restore
from streams.engine.store import OwnedPartition
from tests.outcomes import late_of, outputs_of

PARTITION = 0
GENERATION = 1


@dataclass
class Crashes:
    """Raise `Crash` at the effects with the numbers `at`, counted over all starts of the worker."""

    at: frozenset[int] = frozenset()
    seen: int = 0
    effects: list[str] = field(default_factory=list)

    async def __call__(self, effect: str) -> None:
        self.seen += 1
        self.effects.append(effect)
        if self.seen in self.at:
            raise Crash(effect)


def source_of(broker: MemoryBroker) -> list[SourceRecord]:
    """Return all records of `stock.events`."""
    return [
        SourceRecord(record.offset, record.key, record.value)
        for record in broker.topics[STOCK_EVENTS, PARTITION]
    ]


async def live(
    broker: MemoryBroker, crashes: Crashes, sizes: Iterator[int], committed: Iterator[int]
) -> OwnedPartition:
    """Consume the topic to its end. Restart the worker after each crash. Return its partition.

    `committed` yields the group's offset for each restart. It may be any offset.
    """
    source = source_of(broker)
    group_offset = 0
    for _ in range(len(crashes.at) + 1):
        try:
            owned = await restore(PARTITION, GENERATION, broker)
            await consume(broker, crashes, owned, source[group_offset:], sizes)
        except Crash:
            group_offset = min(next(committed), len(source))
        else:
            return owned
    problem = "more lives than crashes"
    raise AssertionError(problem)


async def consume(
    broker: MemoryBroker,
    crashes: Crashes,
    owned: OwnedPartition,
    source: Sequence[SourceRecord],
    sizes: Iterator[int],
) -> None:
    """Fence former owners. Handle chunks until a crash or the end. Read gaps from the topic."""
    writer = broker.writer(PARTITION, crashes)
    rest = list(source)
    while rest or owned.next_offset < len(broker.topics[STOCK_EVENTS, PARTITION]):
        size = next(sizes)
        chunk, rest = rest[:size], rest[size:]
        if not chunk:
            chunk = source_of(broker)[owned.next_offset :][:size]
        try:
            await handle_chunk(chunk, owned, writer)
        except Gap:
            missing = source_of(broker)[owned.next_offset : chunk[0].offset]
            await handle_chunk(missing, owned, writer)
            await handle_chunk(chunk, owned, writer)


@dataclass
class Expected:
    """Results of one uninterrupted fold over the topic, which a worker's outputs must equal."""

    states: dict[str, bytes] = field(default_factory=dict)
    rejected: dict[str, str] = field(default_factory=dict)
    late: dict[str, tuple[int, int]] = field(default_factory=dict)
    revisions: dict[str, set[int]] = field(default_factory=dict)


def expected(records: Iterable[SourceRecord]) -> Expected:
    """Return the results of a fold without engine, broker or crash."""
    partition = Partition(GENERATION)
    result = Expected()
    for source in records:
        place = f"{GENERATION}-{PARTITION}-{source.offset}"
        try:
            record = decode(source.key, source.value, offset=source.offset)
        except Malformed:
            result.rejected[place] = "malformed"
            continue
        folded = partition.apply(record)
        if isinstance(folded, Refused):
            result.rejected[place] = folded.reason
        late = late_of(folded)
        if late is not None:
            result.late[place] = (late.units, late.amount_minor)
        for output in outputs_of(folded):
            result.revisions.setdefault(output.id, set()).add(output.revision)
    result.states = {key: encode_state(state) for key, state in partition.states.items()}
    return result
