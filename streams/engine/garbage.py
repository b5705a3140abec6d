"""How Python's collector of cycles runs in a process that holds the values of many keys.

What the fold makes holds no cycle, so reference counting frees it. Left as it is, the collector
still walks through what is young after every 700 new containers, and through all keys from time to
time. Cycles come from the broker's clients and from the web server, and wait a little longer for
it. Switching it off would keep these for ever.
"""

import gc
from typing import Final

# New containers before the youngest are looked at; the next two count looks at the ones before.
THRESHOLDS: Final = (50_000, 20, 100)


def collect_rarely() -> None:
    """Let the collector run about seventy times less often, for the rest of the process."""
    gc.set_threshold(*THRESHOLDS)
