"""Detection of waiting work without progress. It only judges; the worker acts on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

# One partition may wait for a long poll of the others. It is stuck after this many times `stall_s`.
ONE_PARTITION_FACTOR = 4
# After this share of `stall_s` without a check, the process was suspended. All waits start again.
SUSPENDED_SHARE = 0.5


@dataclass(slots=True)
class Watchdog:
    """The time at which each partition last moved.

    Kafka consumers are known to stop without an error, and a restore can wait for a record that no
    longer exists. Both look healthy from outside. A restart by the supervisor cures both.
    """

    stall_s: float
    restore_stall_s: float
    _seen: dict[int, tuple[int, float]] = field(default_factory=dict)
    _observed_s: float = 0.0

    def silent_s(self, now_s: float, lags: Mapping[int, int]) -> float:
        """Return the longest time (s) that a partition with waiting records has handled none."""
        waits = (now_s - self._seen[p][1] for p, lag in lags.items() if lag > 0 and p in self._seen)
        return max(waits, default=0.0)

    def problem(
        self,
        now_s: float,
        handled: Mapping[int, int],
        lags: Mapping[int, int],
        *,
        restoring_since_s: float | None,
    ) -> str | None:
        """Return a description of the stuck part, or None.

        `handled` counts the records of each ready partition, `lags` those that wait for it.
        `restoring_since_s` is None unless partitions are awaited from a restore or from the group.
        It is then the time of the restore's last read, or of the revocation.
        """
        if restoring_since_s is not None and now_s - restoring_since_s > self.restore_stall_s:
            return f"nothing was given to us or restored for {self.restore_stall_s:g} s"
        self._observe(now_s, handled, lags)
        waiting = [p for p in handled if lags.get(p, 0) > 0]
        if waiting and all(now_s - self._seen[p][1] > self.stall_s for p in waiting):
            return f"records of partitions {waiting} wait, none was handled for {self.stall_s:g} s"
        for partition in waiting:
            silent_s = now_s - self._seen[partition][1]
            if silent_s > self.stall_s * ONE_PARTITION_FACTOR:
                return (
                    f"partition {partition}: {lags[partition]} records wait, "
                    f"none was handled for {silent_s:.0f} s"
                )
        return None

    def _observe(self, now_s: float, handled: Mapping[int, int], lags: Mapping[int, int]) -> None:
        """Store the time of each partition that has moved or has no lag."""
        if now_s - self._observed_s > self.stall_s * SUSPENDED_SHARE:
            self._seen.clear()
        self._observed_s = now_s
        for partition in [p for p in self._seen if p not in handled]:
            del self._seen[partition]
        for partition, records in handled.items():
            lag = lags.get(partition, 0)
            seen = self._seen.get(partition)
            if seen is None or seen[0] != records or lag <= 0:
                self._seen[partition] = (records, now_s)
