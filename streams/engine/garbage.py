"""Tuning of Python's cyclic garbage collector for a process that holds the values of many keys.

Values of the fold hold no cycle, so reference counting frees them. By default the collector still
scans young objects after every 700 new containers, and all keys from time to time. Cycles come from
the broker's clients and the web server, and can wait longer. Switching the collector off would keep
them for ever.

A full collection takes half a second for 60,000 keys and stops every thread, the group's heartbeats
included. The objects that many records have decoded are therefore hidden from it.
"""

import gc
from typing import Final

# New containers before the youngest generation is collected; the next two count collections of the
# generation before. The product of the first two bounds one collection while keys arrive. A million
# took 350 ms, and all queries waited.
THRESHOLDS: Final = (10_000, 5, 2_000)
FREEZE_AFTER_KEYS: Final = 20_000  # keys decoded since the last time; fewer are scanned quickly


def collect_rarely() -> None:
    """Make the collector run about fourteen times less often, for the rest of the process."""
    gc.set_threshold(*THRESHOLDS)


class CollectorFreeze:
    """Hides the objects of many newly decoded keys from the collector.

    Hidden objects are still freed when their last reference goes, but hidden cycles are not. It
    therefore happens only after a flood.
    """

    def __init__(self) -> None:
        self._known = 0

    def freeze_if_grown(self, in_use: int) -> bool:
        """Hide newly decoded objects if `in_use` has grown enough; return True if it has."""
        self._known = min(self._known, in_use)
        if in_use - self._known < FREEZE_AFTER_KEYS:
            return False
        gc.collect(1)
        gc.freeze()
        self._known = in_use
        return True
