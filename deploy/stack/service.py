"""Definition of one supervised process: command, probes, stop signal."""

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Probe = Callable[[int], bool]
ProbeResult = bool | None  # None: the part that the probe goes through is down
ServiceProbe = Callable[[int], ProbeResult]


@dataclass(frozen=True, slots=True)
class Service:
    """A process of the stack; services with `stop_rank` 0 are stopped first.

    `ready` takes the pid and probes by the service's own protocol. While `is_progressing` is True,
    the start has no time limit: the service makes progress by itself. `alive` is called while the
    service runs. After too many results of False, the supervisor restarts the service. `at_start`
    returns variables that may differ between two starts.
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
    ready_within_s: float = 120.0
    is_progressing: Probe = lambda _pid: False
    alive: ServiceProbe = lambda _pid: None
    privileges: Sequence[str] = field(default_factory=tuple)
    at_start: Callable[[], Mapping[str, str]] = dict
