"""The refusal of queries after a suspension of this process, until ownership is proven.

A process that was suspended for longer than its session has lost its partitions. Until it learns of
that, its answers would have old numbers, although the broker refuses its writes. After such a
suspension, a partition is served only once a chunk of it is acknowledged or partitions are assigned
again. Heartbeats cause a chunk every second.
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
        self._doubted: dict[int, int] = {}
        self._doubted_in = 0

    def check(self, now_s: float) -> None:
        """Doubt the ownership of every ready partition if the last call was too long ago."""
        if now_s - self._checked_s > self._longest_s:
            self._doubted_in = self._ownership.rebalances
            ready = self._ownership.ready
            self._doubted = {number: owned.published_offset for number, owned in ready.items()}
        self._checked_s = now_s

    def trusts(self, owned: OwnedPartition) -> bool:
        """Return True if the partition's ownership was never doubted, or was proven since."""
        if not self._doubted:
            return True
        if self._ownership.rebalances != self._doubted_in:
            self._doubted.clear()
            return True
        if self._doubted.get(owned.number) == owned.published_offset:
            return False
        self._doubted.pop(owned.number, None)
        return True
