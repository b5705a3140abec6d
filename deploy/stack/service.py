"""One supervised process: what starts it, what proves that it serves, how it is asked to stop."""

import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

Probe = Callable[[int], bool]
Answer = bool | None  # None: the part through which to ask is away
Ask = Callable[[int], Answer]


@dataclass(frozen=True, slots=True)
class Service:
    """A process of the stack; `stop_rank` 0 is stopped first.

    `ready` gets the pid and asks by the service's own protocol. `on_its_way` says whether it will
    get ready by itself: while it does, the wait for it does not end. `alive` is asked while the
    service runs; after too many answers of False it is restarted. `at_start` gives variables that
    may differ between two starts.
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
    on_its_way: Probe = lambda _pid: False
    alive: Ask = lambda _pid: None
    privileges: Sequence[str] = field(default_factory=tuple)
    at_start: Callable[[], Mapping[str, str]] = dict
