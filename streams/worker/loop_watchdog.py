"""A thread that ends a process whose event loop is blocked.

Code in the loop can't detect a blocked loop. The group doesn't remove such a worker either, because
Faust sends the worker's heartbeats from a separate thread.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

CHECKS: Final = 10  # number of checks within `limit_s`


def watch(seen_s: Callable[[], float], limit_s: float, end: Callable[[], object]) -> None:
    """Start a thread that calls `end` once `seen_s` has returned the same value for `limit_s`.

    The event loop must change that value regularly. The thread reads it `CHECKS` times in `limit_s`
    seconds, and calls `end` after `CHECKS` equal values. It doesn't compare times: time also passes
    while the process is suspended.
    """
    threading.Thread(target=_watch, args=(seen_s, limit_s, end), daemon=True).start()


def _watch(seen_s: Callable[[], float], limit_s: float, end: Callable[[], object]) -> None:
    last_s, checks = seen_s(), 0
    while checks < CHECKS:
        time.sleep(limit_s / CHECKS)
        now_s = seen_s()
        checks = checks + 1 if now_s == last_s else 0
        last_s = now_s
    end()
