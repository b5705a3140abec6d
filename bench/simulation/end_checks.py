"""Checks at the end of a history: a restart restores all state and sends open decisions again."""

from collections.abc import Iterator, Sequence

from bench.simulation.checks import violated
from bench.simulation.disk import Disk
from bench.simulation.event_loop import StepLoop
from bench.simulation.faults import SLOTS
from bench.simulation.oracle import GENERATION, Truth
from bench.simulation.replays import owed_by_timer
from streams.engine.loop import republish_open
from streams.engine.memory import MemoryBroker
from streams.engine.records import Positions, Send, Stage
from streams.engine.restore import CHANGELOGS, restore
from streams.engine.snapshot import Snapshot
from streams.engine.store import OwnedPartition


class EndChecks:
    """Checks of the topics and snapshots that the workers of a history have left behind."""

    def __init__(self, broker: MemoryBroker, disk: Disk, loop: StepLoop) -> None:
        self._broker = broker
        self._disk = disk
        self._loop = loop

    def check_use(self, partition: int) -> None:
        """Check that a restore reads exactly the records after the snapshot.

        Call this before any compaction.

        Raises:
            Violation: more or fewer records were read.
        """
        for snapshot in self._snapshots(partition):
            behind = sum(
                record.offset >= snapshot.positions[topic]
                for topic in CHANGELOGS
                for record in self._broker.topics[topic, partition]
            )
            read = self._restored(partition, snapshot).restored_records
            if read != behind:
                violated(f"{behind} records behind a snapshot of {partition} are read", read)

    def check_restore(self, partition: int, truth: Truth) -> None:
        """Check that a restore gives the state of the single pass, with and without a snapshot.

        Raises:
            Violation: a state, the ring or an open decision is missing or different.
        """
        for topic in CHANGELOGS:
            self._broker.compact(topic, partition)
        for snapshot in (None, *self._snapshots(partition)):
            restored, true = self._restored(partition, snapshot), truth.partition
            if dict(restored.published.items()) != true.states:
                violated(f"restored states of {partition}", dict(restored.published.items()))
            if set(restored.partition.ring.identities()) != set(true.ring.identities()):
                violated(f"restored ring of {partition}", restored.partition.ring.identities())
            self._check_position(restored, truth)
            self._check_timer(restored)

    def _check_position(self, restored: OwnedPartition, truth: Truth) -> None:
        """Check the restored offsets and the as-of time."""
        end = len(truth.verdicts)
        offsets = (
            restored.next_offset,
            restored.restored_offset,
            restored.published_offset,
            restored.changelog_next_offset,
        )
        if set(offsets) != {end}:
            violated(f"partition {restored.number} continues at {end}", offsets)
        if restored.as_of_us != truth.marks[end][0]:
            violated(
                f"partition {restored.number} is as of {truth.marks[end][0]}", restored.as_of_us
            )

    def _check_timer(self, restored: OwnedPartition) -> None:
        owed, broker = owed_by_timer(restored), _RecordingBroker()
        self._loop.start(republish_open(restored, broker))
        self._loop.run()
        owed.check(broker.sends)

    def _snapshots(self, partition: int) -> Iterator[Snapshot]:
        """Load and yield each worker's snapshot of a partition.

        Each call loads the files again, because a restore modifies the loaded snapshot.
        """
        for slot in range(SLOTS):
            snapshot = self._disk.load(slot, partition)
            if snapshot is not None:
                yield snapshot

    def _restored(self, partition: int, snapshot: Snapshot | None) -> OwnedPartition:
        task = self._loop.start(restore(partition, GENERATION, self._broker, snapshot))
        self._loop.run()
        return task.result()


class _RecordingBroker:
    """A broker that only records sends."""

    def __init__(self) -> None:
        self.sends: list[Send] = []

    async def acknowledged(self, _partition: int, stages: Sequence[Stage]) -> Positions:
        """Record the sends of a transaction. Return no offsets."""
        self.sends += [send for stage in stages for send in stage]
        return {}
