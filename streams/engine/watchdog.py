"""The detection of records or restores that wait without any progress.

The worker ends when `Watchdog.problem` returns a text.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

# A single partition may wait while records of other partitions are processed. It counts as stuck
# only after this many times `stall_s`.
ONE_PARTITION_FACTOR = 4
# If there was no check for this share of `stall_s`, the process was suspended. The watchdog then
# deletes its stored times and measures again.
SUSPENDED_SHARE = 0.5


@dataclass(slots=True)
class Watchdog:
    """A detector of partitions that don't progress. Times are in seconds of a monotonic clock.

    Kafka consumers are known to stop without an error, and a restore can wait for a record that no
    longer exists. In both cases a restart by the supervisor is the repair. Records may wait
    for `stall_s` while no waiting partition progresses, and four times as long while another one
    does. Restores may be without progress for `restore_stall_s`.
    """

    stall_s: float
    restore_stall_s: float
    _seen: dict[int, tuple[int, float]] = field(default_factory=dict)
    _observed_s: float = 0.0

    def silent_s(self, now_s: float, lags: Mapping[int, int]) -> float:
        """Return the longest time (s) for which a partition with waiting records has handled none.

        Return 0 if no partition has waiting records. `lags` counts waiting records by partition.
        """
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
        """Return a description of what is stuck, or None. Call this regularly.

        `handled` counts the handled records of each ready partition, `lags` its waiting records.
        `restoring_since_s` is None if all assigned partitions are ready. Otherwise it is the time
        of the last rebalance or of the last progress of a restore, whichever is later.
        """
        if restoring_since_s is not None and now_s - restoring_since_s > self.restore_stall_s:
            return f"no partition was assigned or restored for {self.restore_stall_s:g} s"
        self._observe(now_s, handled, lags)
        waiting = [p for p in handled if lags.get(p, 0) > 0]
        if waiting and all(now_s - self._seen[p][1] > self.stall_s for p in waiting):
            return (
                f"records of partitions {waiting} wait, and none of them was handled for "
                f"{self.stall_s:g} s"
            )
        for partition in waiting:
            silent_s = now_s - self._seen[partition][1]
            if silent_s > self.stall_s * ONE_PARTITION_FACTOR:
                return (
                    f"partition {partition}: {lags[partition]} records wait, "
                    f"none was handled for {silent_s:.0f} s"
                )
        return None

    def _observe(self, now_s: float, handled: Mapping[int, int], lags: Mapping[int, int]) -> None:
        """Store `now_s` for partitions that handled records since the last call or have no lag."""
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
