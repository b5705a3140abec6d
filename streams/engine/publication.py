"""A partition's changelogs from a finished recomputation, instead of a replay of its log.

What stands in them afterwards is what a worker leaves that takes the whole history as one chunk,
byte for byte: effects, records, transactions and fence are the worker's own. Only the chunk is too
large for one transaction. So every level tells the progress 0, which no chunk ends at and no worker
goes on from (`mismatch.refuse_unfinished`), until the last transaction tells the true one.

Decisions, late and rejected records go to the revision's own outputs, as a replay would send them;
of each key the last decisions only, which is what compaction leaves of all.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final, Protocol, TypeVar

from cdc.contracts.progress import Beat
from cdc.contracts.rejects import Late, Rejection
from cdc.contracts.topics import STOCK_EVENTS
from inventory.model.ids import InvKey
from inventory.model.state import KeyState
from inventory.partition import Partition
from streams.engine.effects import Effects, Writer
from streams.engine.records import Broker, Stage, TopicIds
from streams.engine.restore import CHANGELOGS, START
from streams.engine.store import OwnedPartition

SOURCES: Final = (*CHANGELOGS, STOCK_EVENTS)  # topics whose ids a publication has to know
STATES_AT_ONCE: Final = 1_000  # in a transaction: some megabytes
ROWS_AT_ONCE: Final = 5_000
REFUSALS_AT_ONCE: Final = 100  # of up to 667 kB each

T = TypeVar("T")


class History(Protocol):
    """All that the records of one partition before `end` have come to."""

    @property
    def number(self) -> int: ...  # noqa: D102 -- a protocol's fields, told above

    @property
    def generation(self) -> int: ...  # noqa: D102 -- as above

    @property
    def end(self) -> int: ...  # noqa: D102 -- as above

    @property
    def newest_commit_us(self) -> int | None:
        """What the dedupe ring knows besides its members, which a restore reads from the topic."""
        ...

    @property
    def highest_lsn(self) -> int | None:
        """As above."""
        ...

    @property
    def streamed(self) -> bool:
        """As above."""
        ...

    def ring_from(self) -> int:
        """Where the ring is replayed from."""
        ...

    def states(self) -> Iterable[KeyState]:
        """The whole state of every key, heartbeats included."""
        ...

    def beats(self) -> Mapping[InvKey, Beat]:
        """The newest content of each heartbeat."""
        ...

    def expired(self) -> Iterable[tuple[InvKey, int, bytes]]:
        """Key, start and last record of each window row that no state holds any more."""
        ...

    def lates(self) -> Iterable[Late]:
        """Sales that no window counts."""
        ...

    def rejections(self) -> Iterable[Rejection]:
        """Records without effect."""
        ...


class Publication:
    """Writes one partition. The broker's producer of it was initialised before: it is the fence.

    All partitions are begun, then written, then concluded, so that a worker that comes meanwhile
    finds each of them unfinished. Cut off anywhere, it may be begun again: nothing of it depends on
    what was written before. `topic_ids` has those of `SOURCES`.
    """

    def __init__(self, history: History, broker: Broker, topic_ids: TopicIds) -> None:
        self._history = history
        self._broker = broker
        self._writer = Writer(history.generation, history.number)
        self._owned = OwnedPartition(history.number, Partition(history.generation), START)
        self._owned.topic_ids = dict(topic_ids)
        self._told = self._owned.progress()
        self._owned.next_offset = history.end
        self._owned.partition.ring.resume(
            newest_commit_us=history.newest_commit_us,
            highest_lsn=history.highest_lsn,
            streamed=history.streamed,
        )
        self._last: KeyState | None = None
        self.keys = 0
        self.transactions = 0

    async def begin(self) -> None:
        """Write one key: from now on the changelog says that it is unfinished.

        Raises:
            Fenced: somebody else has initialised the partition's producer.
        """
        first = list(islice(self._history.states(), 1))
        if first:
            await self._write_states(first, self._history.beats())

    async def write(self) -> None:
        """Write everything but the progress.

        Raises:
            Fenced: somebody else has initialised the partition's producer.
        """
        history = self._history
        beats = history.beats()
        for states in _batches(history.states(), STATES_AT_ONCE, _rows_of):
            await self._write_states(states, beats)
            self._last = states[-1]
            self.keys += len(states)
        for rows in _batches(history.expired(), ROWS_AT_ONCE):
            expired = {(key, start): content for key, start, content in rows}
            await self._send(self._stages(Effects(expired=expired)))
        for rejections in _batches(history.rejections(), REFUSALS_AT_ONCE):
            await self._send(self._stages(Effects(rejections=rejections)))
        for lates in _batches(history.lates(), ROWS_AT_ONCE):
            await self._send(self._stages(Effects(lates=lates)))

    async def conclude(self) -> bool:
        """Tell the progress, with the last key's level once more; False if there is no key.

        A worker tells none then either: it goes through such a partition again.

        Raises:
            Fenced: somebody else has initialised the partition's producer.
        """
        last = self._last
        if last is None:
            return False
        self._told = replace(self._owned.progress(), ring_from=self._history.ring_from())
        await self._write_states([last], self._history.beats())
        return True

    async def _write_states(self, states: Iterable[KeyState], beats: Mapping[InvKey, Beat]) -> None:
        effects = Effects()
        by_key = {state.key: state for state in states}
        for key, state in by_key.items():
            # One chunk of everything would have changed each row that the state holds.
            effects.written_again(key, state, state.windows)
            if key in beats:
                effects.beats[key] = beats[key]
        decisions, effects.decisions = effects.decisions, {}
        # Decisions are as of the end, whatever the levels tell.
        sends = list(self._writer.decision_sends(decisions.values(), self._owned.progress()))
        await self._send([*self._stages(effects, by_key), sends])

    def _stages(
        self, effects: Effects, states: dict[InvKey, KeyState] | None = None
    ) -> list[Stage]:
        return self._writer.stages(effects, states or {}, self._told)

    async def _send(self, stages: Iterable[Stage]) -> None:
        await self._broker.acknowledged(self._history.number, [stage for stage in stages if stage])
        self.transactions += 1


def _rows_of(state: KeyState) -> int:
    return len(state.windows)


def _batches(
    found: Iterable[T], most: int, rows_of: Callable[[T], int] = lambda _: 0
) -> Iterator[list[T]]:
    """Up to `most` of them, and none more once they have `ROWS_AT_ONCE`."""
    batch: list[T] = []
    rows = 0
    for one in found:
        batch.append(one)
        rows += rows_of(one)
        if len(batch) >= most or rows >= ROWS_AT_ONCE:
            yield batch
            batch, rows = [], 0
    if batch:
        yield batch
