"""Requested state of a running stack's workers and sinks: `wanted.json` of a home.

A command writes the complete request; the director carries it out. The file survives the command
and is idempotent. A message to the supervisor's process would be neither.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from cdc.contracts.topics import PARTITIONS
from deploy.errors import StackError
from deploy.stack.home import Home, write_json

REPAIR: Final = "inventory workers rebuild --yes"  # resumes what a rebuild has paused
_FILE: Final = "wanted.json"


@dataclass(frozen=True, slots=True)
class RequestedState:
    """Requested number of workers, and of restarts per service since the stack started.

    `paused` names services whose processes stay stopped until their names are removed. `stopped`
    names those that stay stopped even after a rebuild has paused and resumed all. `held` names
    services that are not repaired, because a person has suspended or debugs them.
    """

    workers: int
    restarts: dict[str, int] = field(default_factory=dict)
    paused: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)

    def scaled(self, workers: int) -> "RequestedState":
        """Return the request with another number of workers.

        Raises:
            StackError: not 1 to 12; a partition has one owner, so more workers would be idle.
        """
        if not 1 <= workers <= PARTITIONS:
            message = f"{workers} workers: expected 1 to {PARTITIONS}, one per partition"
            raise StackError(message)
        return replace(self, workers=workers)

    def restarted(self, name: str, done: int = 0) -> "RequestedState":
        """Return the request with one more restart of the service `name`, after `done` restarts.

        The director still has its count after the file was deleted, so `done` is the lower bound.
        """
        times = max(done, self.restarts.get(name, 0)) + 1
        return replace(self, restarts={**self.restarts, name: times})

    def without(self, *names: str) -> "RequestedState":
        """Return the request with exactly these services paused."""
        return replace(self, paused=sorted(names), stopped=[])


def read_requested(home: Home) -> RequestedState | None:
    """Return the last request, None if there never was one.

    Raises:
        StackError: the file is damaged, or another release has written it.
    """
    file = home.path / _FILE
    try:
        found = RequestedState(**json.loads(file.read_text(encoding="utf-8")))
        return found.scaled(found.workers)  # checks the range
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, StackError) as error:
        message = f"{file}: expected the requested state of the workers, found {error!r}"
        raise StackError(message, repair=f"rm {file}  # workers go on as they are") from error


def write_requested(home: Home, requested: RequestedState) -> None:
    """Replace the request atomically."""
    write_json(home.path / _FILE, asdict(requested))
