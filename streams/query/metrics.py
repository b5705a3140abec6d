"""Counters and gauges of one worker, for `/metrics`."""

import time
from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from streams.engine.effects import Effects
from streams.engine.store import OwnedPartition

SECOND_US = 1_000_000


class Metrics:
    """What a worker counts. One registry per instance, so that tests don't share it."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._records = Counter(
            "inventory_records", "Records of stock.events by verdict", ["verdict"],
            registry=self.registry,
        )  # fmt: skip
        self._rejected = Counter(
            "inventory_rejected", "Rejected records by reason", ["reason"], registry=self.registry
        )
        self._late = Counter(
            "inventory_late", "Sales that no live window counts", registry=self.registry
        )
        self._decisions = Counter(
            "inventory_decisions", "Decisions sent, by how", ["how"], registry=self.registry
        )
        self._skipped = Counter(
            "inventory_skipped",
            "Records of partitions that were taken away",
            registry=self.registry,
        )
        self._chunk_seconds = Histogram(
            "inventory_chunk_seconds", "Fold and acknowledgement of one chunk",
            buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
            registry=self.registry,
        )  # fmt: skip
        self._age = Gauge(
            "inventory_as_of_age_seconds", "Wall clock minus as-of", ["partition"],
            registry=self.registry,
        )  # fmt: skip
        self._keys = Gauge("inventory_keys", "Keys", ["partition"], registry=self.registry)
        self._lag = Gauge("inventory_lag_records", "Lag", ["partition"], registry=self.registry)
        self._rebalances = Gauge("inventory_rebalances", "Rebalances", registry=self.registry)

    def chunk(self, effects: Effects, seconds: float) -> None:
        """Count one acknowledged chunk."""
        self._records.labels("applied").inc(effects.applied)
        self._records.labels("resent").inc(effects.resent)
        self._records.labels("replayed").inc(effects.replayed)
        self._records.labels("rejected").inc(len(effects.rejections))
        for rejection in effects.rejections:
            self._rejected.labels(rejection.reason).inc()
        self._late.inc(len(effects.lates))
        self._decisions.labels("made").inc(len(effects.decisions))
        self._chunk_seconds.observe(seconds)

    def republished(self, decisions: int) -> None:
        """Count decisions that were sent again because they are still open."""
        self._decisions.labels("again").inc(decisions)

    def skipped(self, records: int) -> None:
        """Count records left to the partition's next owner."""
        self._skipped.inc(records)

    def partitions(
        self, ready: Mapping[int, OwnedPartition], ends: Mapping[int, int], rebalances: int
    ) -> None:
        """Refresh what is read off the partitions."""
        now_us = time.time_ns() // 1000
        for gauge in (self._age, self._keys, self._lag):
            gauge.clear()
        for number, owned in ready.items():
            label = str(number)
            self._keys.labels(label).set(len(owned.published))
            self._lag.labels(label).set(max(0, ends.get(number, 0) - owned.published_offset))
            if owned.as_of_us is not None:
                self._age.labels(label).set((now_us - owned.as_of_us) / SECOND_US)
        self._rebalances.set(rebalances)
