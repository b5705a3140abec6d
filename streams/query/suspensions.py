"""The refusal of queries after a suspension of this process, until ownership is proven.

A worker may be suspended, for example by SIGSTOP. If the suspension is longer than the worker's
session in the consumer group, other workers take its partitions over. The broker then refuses the
worker's writes, but the worker's answers would have old numbers. So the worker refuses queries
about a partition after such a suspension. It answers again once a chunk of the partition is
acknowledged, or partitions are assigned again. Heartbeats cause a chunk every second.
"""

from streams.engine.ownership import Ownership
from streams.engine.store import OwnedPartition


class Suspensions:
    """A detector of suspensions of this process for longer than `longest_s` seconds.

    Call `check` much more often than every `longest_s`. Times are in seconds of a monotonic clock.
    """

    def __init__(self, ownership: Ownership, longest_s: float, now_s: float) -> None:
        self._ownership = ownership
        self._longest_s = longest_s
        self._checked_s = now_s
        self._unproven_offsets: dict[int, int] = {}
        self._rebalances_at_suspension = 0

    def check(self, now_s: float) -> None:
        """Mark the ownership of all ready partitions as unproven after a suspension.

        A suspension is a time of more than `longest_s` seconds since the last call.
        """
        if now_s - self._checked_s > self._longest_s:
            self._rebalances_at_suspension = self._ownership.rebalances
            ready = self._ownership.ready
            self._unproven_offsets = {
                number: owned.published_offset for number, owned in ready.items()
            }
        self._checked_s = now_s

    def trusts(self, owned: OwnedPartition) -> bool:
        """Return False if this process may have lost the partition during a suspension.

        Return True again once a chunk of the partition is acknowledged, or partitions are assigned
        again. Either of these proves that this process owns the partition.
        """
        if not self._unproven_offsets:
            return True
        if self._ownership.rebalances != self._rebalances_at_suspension:
            self._unproven_offsets.clear()
            return True
        if self._unproven_offsets.get(owned.number) == owned.published_offset:
            return False
        self._unproven_offsets.pop(owned.number, None)
        return True
