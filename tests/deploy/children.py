"""Commands of child processes."""

import sys
from typing import Final

SLEEP: Final = (sys.executable, "-c", "import time; time.sleep(600)")
# This child ignores SIGTERM as soon as it has printed its first line.
DEAF: Final = (
    sys.executable,
    "-c",
    (
        "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
        "print('deaf', flush=True); time.sleep(600)"
    ),
)
# This child writes "ready", and then the signal that ends it: SIGTERM or SIGUSR1.
MEMBER: Final = (
    sys.executable,
    "-c",
    (
        "import signal\n"
        "ends = {signal.SIGTERM: 'comes back', signal.SIGUSR1: 'leaves'}\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, ends)\n"
        "print('ready', flush=True)\n"
        "print(ends[signal.sigwait(ends)], flush=True)\n"
    ),
)
