"""Definition of one supervised process: its command, its probes and its signals for stopping."""

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Probe = Callable[[int], bool]
ProbeResult = bool | None  # None: unknown, because another part that the probe needs is down
ServiceProbe = Callable[[int], ProbeResult]


@dataclass(frozen=True, slots=True)
class Service:
    """Definition of a process of the stack.

    The supervisor stops services with `stop_rank` 0 first. `ready` takes the pid, and probes the
    service by its own protocol. It must return True within `ready_within_s` seconds. This time
    begins again each time that `is_progressing` returns True. The supervisor calls `alive` while
    the service runs. If `alive` returns False for too long, the supervisor restarts the service.

    A service that is removed or paused gets `leave_signal`, or `stop_signal` if `leave_signal` is
    None.
    """

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    directory: Path
    ready: Probe
    stop_rank: int
    port: int | None = None
    url: str | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    leave_signal: signal.Signals | None = None
    ready_within_s: float = 120.0
    is_progressing: Probe = lambda _pid: False
    alive: ServiceProbe = lambda _pid: None
    privileges: Sequence[str] = field(default_factory=tuple)
