"""Open-loop pacing: work is due at planned times, and a late sender never skips."""

import time
from collections.abc import Callable


class Pace:
    """A rate limiter in items per second; with None it never waits.

    `clock` and `sleep` are arguments so that tests need no waiting.
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
        """Wait until the next `items` are due."""
        if self._per_second is None:
            return
        due = self._began + self._sent / self._per_second
        self._sent += items
        ahead = due - self._clock()
        if ahead > 0:
            self._sleep(ahead)
