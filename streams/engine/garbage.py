"""How Python's collector of cycles runs in a process that holds the values of many keys.

What the fold makes holds no cycle, so reference counting frees it. Left as it is, the collector
still walks through what is young after every 700 new containers, and through all keys from time to
time. Cycles come from the broker's clients and from the web server, and wait a little longer for
it. Switching it off would keep these for ever.

A full look takes half a second for 60,000 keys and stops every thread, that of the group's
heartbeats too. So what a flood of records has decoded is taken out of its sight.
"""

import gc
from typing import Final

# New containers before the youngest are looked at; the next two count looks at the ones before. The
# first two together are what one look goes through while keys come in: a million took 350 ms, and
# everybody's questions waited.
THRESHOLDS: Final = (10_000, 5, 2_000)
FLOOD: Final = 20_000  # keys decoded since the last time; fewer are looked through quickly


def collect_rarely() -> None:
    """Let the collector run about fourteen times less often, for the rest of the process."""
    gc.set_threshold(*THRESHOLDS)


class Flood:
    """Notices that many keys have been decoded, and spares the collector the way through them.

    What is out of its sight is still freed when nothing refers to it any more. Only cycles are not:
    so it happens after a flood and never as a habit.
    """

    def __init__(self) -> None:
        self._known = 0

    def look(self, in_use: int) -> bool:
        """Whether the `in_use` decoded keys have become so many more that they were hidden."""
        self._known = min(self._known, in_use)
        if in_use - self._known < FLOOD:
            return False
        gc.collect(1)
        gc.freeze()
        self._known = in_use
        return True
