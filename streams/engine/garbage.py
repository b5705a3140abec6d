"""Settings of Python's cyclic garbage collector for a process with the states of many keys.

States contain no reference cycle, so reference counting frees them. By default the collector still
scans young objects after every 700 new containers, and all states from time to time. Cycles come
from the broker's clients and the web server. They are collected too, but less often.

A full collection takes half a second for 60,000 decoded keys. It stops every thread, also the
thread that sends the worker's heartbeats to its consumer group. After many keys were decoded, their
objects are therefore excluded from collections.
"""

import gc
from typing import Final

# The arguments of `gc.set_threshold`. The product of the first two is the number of new containers
# that one collection scans while keys are decoded. All queries wait meanwhile: 49 ms for 50,000
# containers, 350 ms for a million.
THRESHOLDS: Final = (2_000, 5, 10_000)
# Number of newly decoded keys after which objects are excluded. Scanning fewer takes little time.
FREEZE_AFTER_KEYS: Final = 20_000


def collect_rarely() -> None:
    """Make the collector run about three times less often, for the rest of the process."""
    gc.set_threshold(*THRESHOLDS)


class CollectorFreeze:
    """A switch that excludes all present objects from collections (`gc.freeze`).

    Excluded objects are still freed with their last reference, but excluded cycles are never freed.
    So objects are excluded only after many keys were decoded.
    """

    def __init__(self) -> None:
        self._known = 0

    def freeze_if_grown(self, in_use: int) -> bool:
        """Exclude all present objects from garbage collection, if many keys were decoded.

        `in_use` is the number of decoded keys now. It must have grown by `FREEZE_AFTER_KEYS` since
        the last exclusion. Return True if objects were excluded.
        """
        self._known = min(self._known, in_use)
        if in_use - self._known < FREEZE_AFTER_KEYS:
            return False
        gc.collect(1)
        gc.freeze()
        self._known = in_use
        return True
