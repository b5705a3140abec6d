"""Whether this process may still speak for its partitions after it has slept.

A worker that was stopped longer than its session has lost its partitions and does not know it. Its
writes are fenced, but nothing fences an answer: for a moment it would show numbers of the past as
those of now. So after such a pause a partition is silent until something proves that it is ours: an
acknowledged chunk (heartbeats bring one a second) or a new assignment.
"""

from streams.engine.ownership import Ownership
from streams.engine.store import OwnedPartition


class Pauses:
    """Notices that the process has slept for longer than `longest_s`; call `look` more often."""

    def __init__(self, ownership: Ownership, longest_s: float, now_s: float) -> None:
        self._ownership = ownership
        self._longest_s = longest_s
        self._seen_s = now_s
        self._doubted: dict[int, int] = {}
        self._doubted_in = 0

    def look(self, now_s: float) -> None:
        """Doubt every partition when the last look was so long ago that the session may be over."""
        if now_s - self._seen_s > self._longest_s:
            self._doubted_in = self._ownership.rebalances
            ready = self._ownership.ready
            self._doubted = {number: owned.published_offset for number, owned in ready.items()}
        self._seen_s = now_s

    def trusts(self, owned: OwnedPartition) -> bool:
        """Whether the partition's ownership is proven since the last long pause."""
        if not self._doubted:
            return True
        if self._ownership.rebalances != self._doubted_in:
            self._doubted.clear()
            return True
        if self._doubted.get(owned.number) == owned.published_offset:
            return False
        self._doubted.pop(owned.number, None)
        return True
