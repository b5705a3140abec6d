"""The interface of a peer: a command, a committed position, and readable outputs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import Popen
from typing import Final

from bench.peers.sales import Sums

SALES: Final = "peers.sales"


@dataclass(frozen=True, slots=True)
class Services:
    """The services of a benchmark: broker, optional Postgres, and a starter of child processes.

    `launchers` has the first words of a command line per environment ("ours", "quix", …). An
    environment that could not be created is in `missing` instead, with the reason.
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
class PeerContext:
    """The input, group and directory of one run of a peer.

    `name` is the peer's consumer group and the prefix of its topics. `keys` is the number of
    keys from which the sale lines of the input were drawn.
    """

    services: Services
    topic: str
    name: str
    directory: Path
    keys: int


def prepare_nothing(_context: PeerContext) -> None:
    """Prepare nothing, for a peer that creates its own topics."""


def first_record_marked(context: PeerContext) -> Callable[[], bool]:
    """Return a condition that is true once the peer has created the file `first`."""
    return (context.directory / "first").exists


@dataclass(frozen=True, slots=True)
class Peer:
    """One engine that the benchmark compares.

    * `position` returns the number of records whose effect is committed.
    * `begun` is called before the start. Its result is a condition that is true once the first
      record has arrived.
    * `restored` returns a condition that is true once a restore has ended; `restores` is False if
      no restore is measured.
    * `ends_itself` is True if the program ends at the end of the topic.
    * `most_records` limits the input.
    * `beside` returns the pid of a server that works only for the peer, or 0.
    * `fixed_name` is the group of a peer that can't use another group.
    """

    name: str
    title: str
    what: str
    environment: str
    command: Callable[[PeerContext], Sequence[str]]
    position: Callable[[PeerContext], int]
    outputs: Callable[[PeerContext], Sums]
    prepare: Callable[[PeerContext], None] = prepare_nothing
    begun: Callable[[PeerContext], Callable[[], bool]] = first_record_marked
    restored: Callable[[PeerContext], Callable[[], bool]] | None = None
    variables: Callable[[PeerContext], Mapping[str, str]] = lambda _context: {}
    beside: Callable[[Services], int] = lambda _services: 0
    restores: bool = True
    ends_itself: bool = False
    input: str = SALES
    most_records: int | None = None
    fixed_name: str = ""
