"""Protection against answers for lost partitions after this process was suspended.

A worker that was suspended longer than its session has lost its partitions and does not know it.
The broker fences its writes, but nothing stops its answers: for a moment they would show old
numbers as current. After such a pause, a partition therefore gives no answers until its ownership
is proven. Proof is an acknowledged chunk (heartbeats cause one a second) or a new assignment.
"""

from streams.engine.ownership import Ownership
from streams.engine.store import OwnedPartition


class Suspensions:
    """A detector of process suspensions longer than `longest_s`. Call `check` more often."""

    def __init__(self, ownership: Ownership, longest_s: float, now_s: float) -> None:
        self._ownership = ownership
        self._longest_s = longest_s
        self._checked_s = now_s
        self._doubted: dict[int, int] = {}
        self._doubted_in = 0

    def check(self, now_s: float) -> None:
        """Distrust every partition if the session may have expired since the last call."""
        if now_s - self._checked_s > self._longest_s:
            self._doubted_in = self._ownership.rebalances
            ready = self._ownership.ready
            self._doubted = {number: owned.published_offset for number, owned in ready.items()}
        self._checked_s = now_s

    def trusts(self, owned: OwnedPartition) -> bool:
        """Return True if the partition's ownership is proven since the last long pause."""
        if not self._doubted:
            return True
        if self._ownership.rebalances != self._doubted_in:
            self._doubted.clear()
            return True
        if self._doubted.get(owned.number) == owned.published_offset:
            return False
        self._doubted.pop(owned.number, None)
        return True
