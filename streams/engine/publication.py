"""A partition's changelogs, written from a finished recomputation instead of a replay of its log.

The result equals, byte for byte, that of a worker which takes the complete history as one chunk:
effects, records, transactions and fence are the worker's own. Such a chunk is too large for one
transaction. Every level therefore carries the progress 0 until the last transaction writes the true
one. No chunk ends at 0, and no worker continues from it (`mismatch.refuse_unfinished`). Decisions,
late and rejected records go to the revision's own outputs, as in a replay. Only the last decisions
of each key are written, which is what compaction would leave.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Final, Protocol, TypeVar

from cdc.contracts.progress import Beat
from cdc.contracts.rejects import Late, Rejection
from cdc.contracts.topics import STOCK_EVENTS
from inventory.fold.partition import Partition
from inventory.model.ids import InvKey
from inventory.model.state import KeyState
from streams.engine.effects import Effects, Writer
from streams.engine.records import Broker, Stage, TopicIds
from streams.engine.restore import CHANGELOGS, START
from streams.engine.store import OwnedPartition

SOURCES: Final = (*CHANGELOGS, STOCK_EVENTS)  # topics whose ids a publication needs
STATES_AT_ONCE: Final = 1_000  # in a transaction: a few megabytes
ROWS_AT_ONCE: Final = 5_000
REFUSALS_AT_ONCE: Final = 100  # of up to 667 kB each

T = TypeVar("T")


class History(Protocol):
    """The result of all records of one partition before `end`."""

    @property
    def number(self) -> int: ...  # noqa: D102 -- a protocol's fields, described above

    @property
    def generation(self) -> int: ...  # noqa: D102 -- as above

    @property
    def end(self) -> int: ...  # noqa: D102 -- as above

    @property
    def newest_commit_us(self) -> int | None:
        """Return the dedupe ring's newest commit time. The topic holds the ring's members."""
        ...

    @property
    def highest_lsn(self) -> int | None:
        """Return the dedupe ring's highest lsn."""
        ...

    @property
    def streamed(self) -> bool:
        """Return True if a change has ended the snapshot phase."""
        ...

    def ring_from(self) -> int:
        """Return the offset from which the ring is replayed."""
        ...

    def states(self) -> Iterable[KeyState]:
        """Yield the complete state of every key, heartbeats included."""
        ...

    def beats(self) -> Mapping[InvKey, Beat]:
        """Return the newest content of each heartbeat."""
        ...

    def expired(self) -> Iterable[tuple[InvKey, int, bytes]]:
        """Yield key, start and last record of each window row that no state holds any more."""
        ...

    def lates(self) -> Iterable[Late]:
        """Yield the sales that no window counts."""
        ...

    def rejections(self) -> Iterable[Rejection]:
        """Yield the records without effect."""
        ...


class Publication:
    """The writer of one partition.

    The broker's producer must be initialised before: it is the fence. All partitions are begun,
    then written, then concluded. A worker that starts in between finds each of them unfinished.
    After an interruption, start again from the beginning: no step depends on what was written
    before. `topic_ids` has those of `SOURCES`.
    """

    def __init__(self, history: History, broker: Broker, topic_ids: TopicIds) -> None:
        self._history = history
        self._broker = broker
        self._writer = Writer(history.generation, history.number)
        self._owned = OwnedPartition(history.number, Partition(history.generation), START)
        self._owned.topic_ids = dict(topic_ids)
        self._written_progress = self._owned.progress()
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
        """Write one key. From then on the changelog marks the partition as unfinished.

        Raises:
            Fenced: another process has initialised the partition's producer.
        """
        first = list(islice(self._history.states(), 1))
        if first:
            await self._write_states(first, self._history.beats())

    async def write(self) -> None:
        """Write everything but the progress.

        Raises:
            Fenced: another process has initialised the partition's producer.
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

    async def write_progress(self) -> bool:
        """Write the progress with the last key's level. Return False if there is no key.

        A worker writes no progress then either: it replays such a partition.

        Raises:
            Fenced: another process has initialised the partition's producer.
        """
        last = self._last
        if last is None:
            return False
        self._written_progress = replace(
            self._owned.progress(), ring_from=self._history.ring_from()
        )
        await self._write_states([last], self._history.beats())
        return True

    async def _write_states(self, states: Iterable[KeyState], beats: Mapping[InvKey, Beat]) -> None:
        effects = Effects()
        by_key = {state.key: state for state in states}
        for key, state in by_key.items():
            # One chunk of everything would have changed each row that the state holds.
            effects.add_resend(key, state, state.windows)
            if key in beats:
                effects.beats[key] = beats[key]
        decisions, effects.decisions = effects.decisions, {}
        # Decisions are as of the end, whatever progress the levels carry.
        sends = list(self._writer.decision_sends(decisions.values(), self._owned.progress()))
        await self._send([*self._stages(effects, by_key), sends])

    def _stages(
        self, effects: Effects, states: dict[InvKey, KeyState] | None = None
    ) -> list[Stage]:
        return self._writer.stages(effects, states or {}, self._written_progress)

    async def _send(self, stages: Iterable[Stage]) -> None:
        await self._broker.acknowledged(self._history.number, [stage for stage in stages if stage])
        self.transactions += 1


def _rows_of(state: KeyState) -> int:
    return len(state.windows)


def _batches(
    found: Iterable[T], most: int, rows_of: Callable[[T], int] = lambda _: 0
) -> Iterator[list[T]]:
    """Yield batches of up to `most` items that end once they have `ROWS_AT_ONCE` rows."""
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
