"""The signals that stop a worker, for the worker itself and for the supervisor."""

import signal
from typing import Final

# SIGTERM stops a worker that will be started again, so the worker stays a member of its group. This
# signal stops a worker that won't be started again: it leaves the group first.
LEAVE_SIGNAL: Final = signal.SIGUSR1
