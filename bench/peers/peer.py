"""What a peer is to the bench: a command, a position that moves, outputs that can be read."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Final

from bench.peers.sales import Sums

SALES: Final = "peers.sales"


@dataclass(frozen=True, slots=True)
class Services:
    """What runs for the bench: a broker, a Postgres if a peer needs one, and how to start a child.

    `launchers` names the start of a command per environment ("ours", "quix", …); an environment
    that could not be made stands in `missing` with the reason instead.
    """

    bootstrap: str
    broker_pid: int
    launchers: Mapping[str, Sequence[str]]
    start: Callable[[Sequence[str], Mapping[str, str], Path], Popen[bytes]]
    database_url: str = ""
    postgres_pid: int = 0
    worker_environment: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Place:
    """Where one run of a peer reads and writes.

    `name` is its consumer group and the prefix of its topics; `keys` were drawn from.
    """

    services: Services
    topic: str
    name: str
    directory: Path
    keys: int


def nothing(_place: Place) -> None:
    """A peer that makes its own topics."""


def marked_first(place: Place) -> Callable[[], bool]:
    """The peer says itself that its first record has arrived."""
    return (place.directory / "first").exists


@dataclass(frozen=True, slots=True)
class Peer:
    """One engine.

    `position` is the number of records whose effect is committed. `begun`, asked before the start,
    gives what tells that the first record has arrived; `restored`, that a restarted peer has its
    state again. `most_records` is how much of the input the peer gets, if not all. `beside` is the
    pid of a server that works for the peer, or 0. `fixed_name` is the group of a peer that cannot
    have another one.
    """

    name: str
    title: str
    what: str
    environment: str
    command: Callable[[Place], Sequence[str]]
    position: Callable[[Place], int]
    outputs: Callable[[Place], Sums]
    prepare: Callable[[Place], None] = nothing
    begun: Callable[[Place], Callable[[], bool]] = marked_first
    restored: Callable[[Place], Callable[[], bool]] | None = None
    variables: Callable[[Place], Mapping[str, str]] = lambda _place: {}
    beside: Callable[[Services], int] = lambda _services: 0
    restores: bool = True
    ends_itself: bool = False
    input: str = SALES
    most_records: int | None = None
    fixed_name: str = ""
