"""Publish a finished recomputation: write a partition's states and outputs to the topics.

The records equal, byte for byte, those of a worker that folds the complete history as one chunk.
The code of the worker writes them, with producers that fence all other writers.

The history is too large for one transaction, so a publication can be interrupted. Every level
therefore gets the progress 0, and only the last transaction writes the true progress. No worker's
chunk has the progress 0, and no worker restores from it (`mismatch.refuse_unfinished`). Decisions,
late sales and rejected records go to the output topics of the logic revision. For each key, the
publication writes only the last decision about a need and the last one about a price. Compaction
would remove the earlier ones.
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
STATES_AT_ONCE: Final = 1_000  # per transaction: a few megabytes
ROWS_AT_ONCE: Final = 5_000
REFUSALS_AT_ONCE: Final = 100  # rejected records per transaction, of up to 667 kB each

T = TypeVar("T")


class History(Protocol):
    """The result of a recomputation of partition `number` from all records before offset `end`."""

    @property
    def number(self) -> int: ...  # noqa: D102 -- a protocol's fields, described above

    @property
    def generation(self) -> int: ...  # noqa: D102 -- as above

    @property
    def end(self) -> int: ...  # noqa: D102 -- as above

    @property
    def newest_commit_us(self) -> int | None:
        """Return the dedupe ring's newest commit time in µs since 1970 UTC, None if it has none.

        The publication needs no members of the ring: a worker reads them from the source topic.
        """
        ...

    @property
    def highest_lsn(self) -> int | None:
        """Return the dedupe ring's highest LSN, None if it has none."""
        ...

    @property
    def streamed(self) -> bool:
        """Return True if the history has a change, so that Debezium's snapshot is over.

        A change is a record with op c, u or d.
        """
        ...

    def ring_from(self) -> int:
        """Return the source offset from which a worker must read to rebuild its dedupe ring."""
        ...

    def states(self) -> Iterable[KeyState]:
        """Yield the complete state of every key, heartbeats included."""
        ...

    def beats(self) -> Mapping[InvKey, Beat]:
        """Return the newest heartbeat of each heartbeat key."""
        ...

    def expired(self) -> Iterable[tuple[InvKey, int, bytes]]:
        """Yield (key, start in µs, last window record) of each window row that has expired."""
        ...

    def lates(self) -> Iterable[Late]:
        """Yield the late sales of expired windows."""
        ...

    def rejections(self) -> Iterable[Rejection]:
        """Yield the rejected records."""
        ...


class Publication:
    """The publication of one partition. `topic_ids` has the ids of the topics in `SOURCES`.

    Initialise the broker's producer first, because that fences other writers. Then call `begin` for
    all partitions, `write` for all, and `write_progress` for all. Until then, a worker that starts
    refuses the unfinished partitions. After an interruption, start again with `begin`: no step
    depends on what was written before.
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
        """Write the first key's level with progress 0, which marks the partition as unfinished.

        Raises:
            Fenced: another process has initialised the partition's producer.
        """
        first = list(islice(self._history.states(), 1))
        if first:
            await self._write_states(first, self._history.beats())

    async def write(self) -> None:
        """Write all states with progress 0, and all outputs of the recomputation.

        The outputs are decisions, expired window rows, rejected records and late sales.

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
        """Write the last key's level again, with the true progress. Call this after `write`.

        Return False if there is no key. A worker then finds no progress for the partition and
        replays the source topic.

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
            # A fold of the complete history as one chunk has changed every window row of the state.
            effects.add_resend(state)
            if key in beats:
                effects.beats[key] = beats[key]
        decisions, effects.decisions = effects.decisions, {}
        # Decisions get the as-of time of the history's end, although the levels have progress 0.
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
    """Yield batches of up to `most` items.

    `rows_of` counts the window rows of an item. A batch also ends once it has `ROWS_AT_ONCE` rows.
    """
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
