"""Ends a process whose event loop stands still: nothing that runs in the loop could see it.

Faust's heartbeats come from a thread of their own, so the group keeps such a worker for ever.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

LOOKS: Final = 10  # within the limit


def watch(seen_s: Callable[[], float], limit_s: float, end: Callable[[], object]) -> None:
    """Call `end` from a thread once `seen_s` has given the same moment for `limit_s` seconds.

    Looks are counted and not the clock: a process that was stopped did not look meanwhile.
    """
    threading.Thread(target=_look, args=(seen_s, limit_s, end), daemon=True).start()


def _look(seen_s: Callable[[], float], limit_s: float, end: Callable[[], object]) -> None:
    last_s, looks = seen_s(), 0
    while looks < LOOKS:
        time.sleep(limit_s / LOOKS)
        now_s = seen_s()
        looks = looks + 1 if now_s == last_s else 0
        last_s = now_s
    end()
