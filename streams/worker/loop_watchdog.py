"""A thread that ends a process whose event loop is blocked. Code in the loop can't detect that.

Faust sends heartbeats from a separate thread, so the group would never remove such a worker.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

CHECKS: Final = 10  # within the limit


def watch(seen_s: Callable[[], float], limit_s: float, end: Callable[[], object]) -> None:
    """Call `end` from a thread once `seen_s` has returned the same time for `limit_s` seconds.

    Checks are counted, not clock time: a suspended process did not check in between.
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
