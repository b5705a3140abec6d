"""Open-loop pacing: each item is due at a time that was planned at the start.

Item n (from 0) is due n / rate seconds after the start. A sender that is late sends without a pause
until it has caught up, and skips no item.
"""

import time
from collections.abc import Callable


class Pace:
    """A limiter to `per_second` items per second; the start is the time of its creation.

    With `per_second` None there is no limit. Tests pass a `clock` and a `sleep` (both in seconds)
    of their own.
    """

    def __init__(
        self,
        *,
        per_second: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._per_second = per_second
        self._clock = clock
        self._sleep = sleep
        self._began = clock()
        self._sent = 0

    def wait_for(self, items: int) -> None:
        """Wait until the first of the next `items` items is due."""
        if self._per_second is None:
            return
        due = self._began + self._sent / self._per_second
        self._sent += items
        ahead = due - self._clock()
        if ahead > 0:
            self._sleep(ahead)
