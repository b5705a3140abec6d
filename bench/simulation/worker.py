"""The real runtime and snapshot writer of a worker, with the broker and disk of a simulation."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol, cast

from typing_extensions import override

from bench.simulation.oracle import GENERATION
from bench.simulation.reader import Reader
from bench.simulation.replays import owed_by_timer, owed_for_replay
from streams.engine.kafka_log import KafkaLog
from streams.engine.ownership import Fencing, Ownership
from streams.engine.records import Send, SourceRecord
from streams.engine.store import OwnedPartition
from streams.engine.transactions import PartitionProducers
from streams.query.metrics import Metrics
from streams.settings import WorkerSettings
from streams.worker.gaps import Gaps
from streams.worker.runtime import Runtime
from streams.worker.snapshot_writer import SnapshotWriter

# The broker returns batches of 3 records, and a chunk has at most 2. So a worker that reads a gap
# (`streams.worker.gaps`) folds chunks of 2 records and of 1.
_SETTINGS: Final = WorkerSettings.model_construct(chunk_records=2)
_METRICS: Final = Metrics()  # shared by all workers and never read


class Client(Fencing, Protocol):
    """The broker interface of a simulated process; `sent` has the last sends by partition."""

    sent: dict[int, list[Send]]

    async def close(self) -> None:
        """Release every partition."""
        ...


class Worker(Runtime):
    """A worker's runtime that checks its own repeated sends.

    After a replay, it must send the outputs of the replayed records again. When the timer is due,
    it must send all open decisions again.
    """

    def __init__(
        self,
        client: Client,
        open_log: Callable[[], Reader],
        directory: Path,
        on_failure: Callable[[BaseException], None],
    ) -> None:
        self.settings = _SETTINGS
        self.metrics = _METRICS
        self.producers = cast(PartitionProducers, client)
        self._client = client
        self._open = open_log
        self.snapshot_writer = SnapshotWriter(directory, GENERATION, lambda: self.ownership.ready)
        self.ownership = Ownership(
            GENERATION, client, open_log, on_failure, self.snapshot_writer.find
        )
        self.gaps = Gaps(open_log, self._fold, _SETTINGS.chunk_records)

    @override
    def open_log(self) -> KafkaLog:
        return cast(KafkaLog, self._open())

    @override
    async def _fold(self, chunk: Sequence[SourceRecord], owned: OwnedPartition) -> None:
        owed = owed_for_replay(chunk, owned)
        self._client.sent[owned.number] = []
        await super()._fold(chunk, owned)
        owed.check(self._client.sent[owned.number])

    @override
    async def _send_open(self, owned: OwnedPartition) -> None:
        owed = owed_by_timer(owned)
        self._client.sent[owned.number] = []
        await super()._send_open(owned)
        owed.check(self._client.sent[owned.number])
