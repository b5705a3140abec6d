"""A smaller share of busy cores, for processes whose work can wait.

Linux divides a busy core by nice values. It compares them only within one group of processes. By
default each session is a group, with a nice value of its own. A container is a group, too:
`docker-compose.yml` gives it a share with `cpu_shares`.
"""

import os
import random
import time
from pathlib import Path
from typing import Final

import structlog

# With 1, the read model stays close to the workers. With 2 or more, the workers handle fewer
# records per second.
WORKER: Final = 1
ARCHIVER: Final = 10  # no page waits for the archive
PROVER: Final = 10

# Share of a container, compared with Docker's default of 1,024. These are the kernel's weights of
# the nice values.
SHARES: Final = {WORKER: 820, ARCHIVER: 110, PROVER: 110}

_SESSION: Final = Path("/proc/self/autogroup")
# Without privileges, one process of the whole machine may set the value in 0.1 s.
_PAUSE_S: Final = 0.1
_ATTEMPTS: Final = 100

_log = structlog.get_logger(__name__)


def lower_share(niceness: int) -> None:
    """Add `niceness` to the nice value of this process, and set that of its session."""
    os.nice(niceness)
    lower_session_share(niceness)


def lower_session_share(niceness: int) -> None:
    """Set the nice value of the session to `niceness`, if this process leads the session.

    Do nothing otherwise, because the session then has other processes, for example a shell. A
    kernel without such groups compares the nice values of all processes.
    """
    if os.getsid(0) != os.getpid():
        return
    for _attempt in range(_ATTEMPTS):
        try:
            _SESSION.write_text(str(niceness), encoding="ascii")
        except BlockingIOError:
            time.sleep(_PAUSE_S * (1 + random.random()))  # noqa: S311 -- processes take turns
        except OSError:
            return
        else:
            return
    _log.warning("the share of the session is not lowered", niceness=niceness)
