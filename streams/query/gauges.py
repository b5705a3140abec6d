"""The figures of `/metrics` that each request reads from the worker's state."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

from inventory.revision import LOGIC_REVISION
from streams.engine.store import OwnedPartition
from streams.engine.watchdog import Watchdog
from streams.query import answers
from streams.query.answers import SECOND_US, Queryable
from streams.query.metrics import OfPartitions, Readings, Sample


class ProducerFigures(Protocol):
    """The number of committed transactions, and the sum of their durations in seconds."""

    committed: int
    committing_s: float


class SnapshotFigures(Protocol):
    """The counters of snapshots, and the time of each partition's last write (s, monotonic)."""

    written: int
    failed: int
    discarded: int
    seconds: float
    at_s: dict[int, float]


class HasSnapshotFigures(Protocol):
    """The part of a snapshot writer that the metrics read."""

    @property
    def counts(self) -> SnapshotFigures:
        """Return the counters of snapshots."""
        ...


class Measurable(Queryable, Protocol):
    """A worker, with the attributes from which `register` reads figures."""

    watchdog: Watchdog

    @property
    def snapshot_writer(self) -> HasSnapshotFigures:
        """Return the worker's snapshot writer."""
        ...

    @property
    def producers(self) -> ProducerFigures:
        """Return the worker's transactional producers."""
        ...


def register(worker: Measurable) -> Readings:
    """Register gauges and counters that read `worker`, and return them.

    Call this once for each worker.
    """
    readings = Readings(worker.metrics.registry)
    _of_partitions(readings, worker)
    _of_ownership(readings, worker)
    _of_snapshots(readings, worker)
    gauge = readings.gauge
    gauge("logic_revision", "Version number of the rules", lambda: one(LOGIC_REVISION))
    gauge(
        "generation",
        "Generation of the source log: 1, and one more for each new log",
        lambda: one(worker.settings.generation),
    )
    gauge("ready", "1 while all assigned partitions are restored", lambda: one(is_ready(worker)))
    gauge(
        "watchdog_silent_seconds",
        "Longest time, of all partitions, for which records have waited while none was handled",
        lambda: one(worker.watchdog.silent_s(time.monotonic(), _lags(worker))),
    )
    gauge(
        "watchdog_limit_seconds",
        "Time after which the watchdog ends the process if no waiting partition progresses",
        lambda: one(worker.watchdog.stall_s),
    )
    readings.counter(
        "transactions", "Committed transactions", lambda: one(worker.producers.committed)
    )
    readings.counter(
        "transaction_seconds",
        "Sum of the times from begin to commit of all transactions; transactions may overlap",
        lambda: one(worker.producers.committing_s),
    )
    return readings


def _of_partitions(readings: Readings, worker: Queryable) -> None:
    of_each = partial(_each, worker)
    gauge = readings.gauge
    gauge("keys", "Keys of a partition", of_each(lambda owned: len(owned.published)))
    gauge(
        "keys_in_use",
        "Keys whose state is decoded, because it has changed since the last snapshot",
        of_each(lambda owned: owned.states.count_in_use()),
    )
    gauge(
        "rest_bytes",
        "Bytes, after compression, of the states that are stored compressed",
        of_each(lambda owned: owned.cold.payload_bytes),
    )
    gauge(
        "open_keys",
        "Keys with an open need or price proposal",
        of_each(lambda owned: len(owned.open_keys)),
    )
    gauge(
        "dedupe_ring_records",
        "Recent records that are kept to recognise a record that was sent twice",
        of_each(lambda owned: len(owned.partition.ring)),
    )
    gauge(
        "dedupe_ring_seconds",
        "Newest commit time of the dedupe ring minus the commit time of its first record",
        of_each(lambda owned: owned.partition.ring.span_us / SECOND_US),
    )
    _of_extent(readings, worker)


def _of_extent(readings: Readings, worker: Queryable) -> None:
    """Register each partition's lag, and the ages of its newest record and newest heartbeat."""
    of_each = partial(_each, worker)
    gauge = readings.gauge
    gauge(
        "lag_records",
        "Records of stock.events that are not in the state yet",
        of_each(lambda owned: _lag(worker, owned)[0]),
    )
    gauge(
        "lag_seconds",
        "Longest time that a record can have waited to be folded: present time minus the newest "
        "commit time in the state; 0 if no record waits",
        of_each(lambda owned: _lag(worker, owned)[1]),
    )
    gauge(
        "as_of_age_seconds",
        "Present time minus the newest commit time in the state",
        of_each(lambda owned: _age(owned.as_of_us)),
    )
    gauge(
        "heartbeat_age_seconds",
        "Present time minus the commit time of the newest heartbeat row in the state",
        of_each(lambda owned: _age(worker.metrics.beats_us.get(owned.number))),
    )


def _of_ownership(readings: Readings, worker: Queryable) -> None:
    ownership = worker.ownership
    gauge, counter = readings.gauge, readings.counter
    gauge(
        "partitions_assigned",
        "Partitions that the group has assigned to this worker",
        lambda: one(len(ownership.assigned)),
    )
    gauge(
        "partitions_ready",
        "Assigned partitions whose state is restored",
        lambda: one(len(ownership.ready)),
    )
    counter(
        "rebalances",
        "Rebalances in which this worker took part",
        lambda: one(ownership.rebalances),
    )
    restores = ownership.restores
    counter(
        "restores",
        "Assigned partitions that became ready, by a restore or with their state still in memory",
        lambda: one(restores.partitions),
    )
    counter(
        "restores_kept",
        "Partitions that became ready without a restore, because this worker still had their state",
        lambda: one(restores.kept),
    )
    counter(
        "restored_records",
        "Changelog records that restores have read",
        lambda: one(restores.records),
    )
    counter(
        "restore_seconds",
        "Time of restores, and of checks that the kept state of a partition is the newest",
        lambda: one(restores.seconds),
    )


def _of_snapshots(readings: Readings, worker: Measurable) -> None:
    counts = worker.snapshot_writer.counts
    counter = readings.counter
    counter("snapshots_written", "Snapshot files that were written", lambda: one(counts.written))
    counter(
        "snapshots_failed",
        "Snapshots that could not be written; the former file is kept",
        lambda: one(counts.failed),
    )
    counter(
        "snapshots_discarded",
        "Snapshot files that could not be used; a restore read an older one or the changelogs",
        lambda: one(counts.discarded),
    )
    counter("snapshot_seconds", "Time spent on writing snapshots", lambda: one(counts.seconds))
    readings.gauge(
        "snapshot_age_seconds",
        "Time since this process wrote a snapshot of the partition; grows while no records arrive",
        _each(worker, lambda owned: _since(counts.at_s.get(owned.number))),
    )


def one(figure: float) -> list[Sample]:
    """Return a list with one sample, for a figure that has one value for the whole worker."""
    return [(None, figure)]


def is_ready(worker: Queryable) -> int:
    """Return 1 if all assigned partitions are restored, otherwise 0."""
    return int(answers.is_ready(worker))


def _each(worker: Queryable, figure: Callable[[OwnedPartition], float | None]) -> OfPartitions:
    """Return a reader that yields `figure` of each ready partition.

    A partition for which `figure` returns None is left out.
    """

    def read() -> Iterator[Sample]:
        for number, owned in sorted(worker.ownership.ready.items()):
            found = figure(owned)
            if found is not None:
                yield str(number), found

    return OfPartitions(read)


def _lag(worker: Queryable, owned: OwnedPartition) -> tuple[int, float]:
    return answers.lag(owned, worker.ends, time.time_ns() // 1000)


def _lags(worker: Queryable) -> dict[int, int]:
    return {n: _lag(worker, owned)[0] for n, owned in worker.ownership.ready.items()}


def _since(at_s: float | None) -> float | None:
    return None if at_s is None else time.monotonic() - at_s


def _age(at_us: int | None) -> float | None:
    return None if at_us is None else (time.time_ns() // 1000 - at_us) / SECOND_US
