"""The metrics of one worker, for `/metrics` in the text format of Prometheus.

The worker increases counters and histograms while it works. Gauges are read at each request, so
they cost nothing between requests. Values of labels come from fixed sets (partitions, verdicts,
reasons, routes), never from keys.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from typing_extensions import override

from cdc.contracts.partition import partition_of
from cdc.figures import Figure
from inventory.model.outputs import PriceOutput
from streams.engine.effects import Effects

SECOND_US: Final = 1_000_000
_CHUNK_S: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5)
_CHUNK_RECORDS: Final = (1, 10, 100, 500, 1_000, 2_500, 5_000, 10_000, 20_000)
_FRESH_S: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60)
_DELAY_S: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5)
_QUERY_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1)

Sample = tuple[str | None, float]  # (partition or None for the whole worker, value)
Read = Callable[[], Iterable[Sample]]


@dataclass(frozen=True, slots=True)
class OfPartitions:
    """A function that reads one sample for each partition. The metric has the label `partition`."""

    read: Read

    def __call__(self) -> Iterable[Sample]:
        """Return one sample (partition, value) for each partition."""
        return self.read()


class Metrics:
    """The counters and histograms of a worker, with a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.figures: list[Figure] = []
        self.beats_us: dict[int, int] = {}  # commit time of each partition's newest heartbeat
        ProcessCollector(registry=self.registry)  # CPU seconds, resident bytes, open files
        self._records = self._counter("records", "Records of stock.events by verdict", "verdict")
        self._rejected = self._counter("rejected", "Rejected records by reason", "reason")
        self._late = self._counter("late", "Records with late sales that no window counts")
        self._decisions = self._counter(
            "decisions", "Sent decisions: `made` from a record, or sent `again` while open", "how"
        )
        self._clamps = self._counter(
            "price_clamps", "Price decisions, by the limit (clamp) that changed the price", "clamp"
        )
        self._skipped = self._counter(
            "skipped", "Fetched records that were not handled, because their partition was revoked"
        )
        self._chunk_seconds = self._histogram(
            "chunk_seconds", "Time to fold one chunk and commit its output", _CHUNK_S
        )
        self._chunk_records = self._histogram(
            "chunk_records", "Records of one chunk", _CHUNK_RECORDS
        )
        self._freshness = self._histogram(
            "freshness_seconds",
            "Time from a heartbeat row's commit in Postgres to the Kafka commit of its chunk",
            _FRESH_S,
        )
        self._loop_delay = self._histogram(
            "event_loop_delay_seconds",
            "Time from a timer's due time until the event loop calls it",
            _DELAY_S,
        )
        self._queries = self._counter("queries", "Answered requests", "route", "code")
        self._query_seconds = self._histogram(
            "query_seconds", "Time to answer a request", _QUERY_S, "route"
        )
        self._forwards = self._counter(
            "query_forwards",
            "Queries forwarded to other workers, by the status of their answer",
            "code",
        )

    def chunk(self, effects: Effects, seconds: float) -> None:
        """Count an acknowledged chunk, its records and decisions, and the seconds that it took."""
        counts = {
            "applied": effects.applied,
            "resent": effects.resent,
            "replayed": effects.replayed,
            "rejected": len(effects.rejections),
        }
        for verdict, records in counts.items():
            self._records.labels(verdict).inc(records)
        for rejection in effects.rejections:
            self._rejected.labels(rejection.reason).inc()
        self._late.inc(len(effects.lates))
        self._decisions.labels("made").inc(len(effects.decisions))
        for output, _state in effects.decisions.values():
            if isinstance(output, PriceOutput):
                for clamp in output.clamps:
                    self._clamps.labels(clamp).inc()
        self._chunk_seconds.observe(seconds)
        self._chunk_records.observe(sum(counts.values()))
        now_us = time.time_ns() // 1000
        for key, beat in effects.beats.items():
            self.beats_us[partition_of(key.encode())] = beat.commit_us
            self._freshness.observe(max(0, now_us - beat.commit_us) / SECOND_US)

    def republished(self, decisions: int) -> None:
        """Count open decisions that the timer sent again."""
        self._decisions.labels("again").inc(decisions)

    def skipped(self, records: int) -> None:
        """Count records that were not handled because their partition was revoked."""
        self._skipped.inc(records)

    def loop_delayed(self, seconds: float) -> None:
        """Record by how many seconds the event loop called a timer too late."""
        self._loop_delay.observe(max(0.0, seconds))

    def answered(self, route: str, code: int, seconds: float) -> None:
        """Count a request. `route` is its pattern, for example `/iq/v1/keys/{key}`."""
        self._queries.labels(route, str(code)).inc()
        self._query_seconds.labels(route).observe(seconds)

    def forwarded(self, code: int | None) -> None:
        """Count a forwarded query by the answer's status.

        A `code` of None means that no owner was known, or that the owner didn't answer in time.
        """
        self._forwards.labels("none" if code is None else str(code)).inc()

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        self.figures.append(Figure(f"inventory_{name}_total", "counter", labels, about))
        return Counter(f"inventory_{name}", about, labels, registry=self.registry)

    def _histogram(
        self, name: str, about: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        self.figures.append(Figure(f"inventory_{name}", "histogram", labels, about))
        return Histogram(
            f"inventory_{name}", about, labels, buckets=buckets, registry=self.registry
        )


class Readings(Collector):
    """The figures that are read at each request of `/metrics`."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._gauges: dict[str, tuple[str, Read]] = {}
        self._counters: dict[str, tuple[str, Read]] = {}
        registry.register(self)

    def figures(self) -> Iterator[Figure]:
        """Yield name, type, labels and help text of each gauge and counter."""
        for name, (about, read) in self._gauges.items():
            labels = ("partition",) if isinstance(read, OfPartitions) else ()
            yield Figure(f"inventory_{name}", "gauge", labels, about)
        for name, (about, _read) in self._counters.items():
            yield Figure(f"inventory_{name}_total", "counter", (), about)

    def gauge(self, name: str, about: str, read: Read) -> None:
        """Register a gauge. `read` returns its present value; `about` is its help text."""
        self._gauges[name] = about, read

    def counter(self, name: str, about: str, read: Read) -> None:
        """Register a counter. `read` returns its present value, which must never decrease."""
        self._counters[name] = about, read

    @override
    def collect(self) -> Iterator[Metric]:
        """Yield all current figures."""
        for name, (about, read) in self._gauges.items():
            yield _filled(GaugeMetricFamily, name, about, list(read()))
        for name, (about, read) in self._counters.items():
            yield _filled(CounterMetricFamily, name, about, list(read()))


def _filled(
    family: type[GaugeMetricFamily] | type[CounterMetricFamily],
    name: str,
    about: str,
    samples: list[Sample],
) -> Metric:
    of_partitions = any(label is not None for label, _ in samples)
    found = family(f"inventory_{name}", about, labels=["partition"] if of_partitions else [])
    for label, figure in samples:
        found.add_metric([] if label is None else [label], figure)
    return found
