"""Commands of child processes."""

import sys
from typing import Final

SLEEP: Final = (sys.executable, "-c", "import time; time.sleep(600)")
# Ignores SIGTERM, from the moment in which it prints its first line.
DEAF: Final = (
    sys.executable,
    "-c",
    (
        "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('deaf', flush=True); time.sleep(600)"
    ),
)
