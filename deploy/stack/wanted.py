"""What people want of a running stack's workers and readers: `wanted.json` of a home.

Commands write the whole wish, the director makes it so. A wish survives whoever wrote it and can be
repeated without harm; a message to the supervisor's process would do neither.
"""

import json
from dataclasses import asdict, dataclass, field, replace
from typing import Final

from cdc.contracts.topics import PARTITIONS
from deploy.errors import StackError
from deploy.stack.home import Home, write_json

REPAIR: Final = "inventory workers rebuild --yes"  # for everything that this pauses
_FILE: Final = "wanted.json"


@dataclass(frozen=True, slots=True)
class Wanted:
    """How many workers, and how often each was asked to begin anew since the stack started.

    `paused` names services whose processes are to stay away until they are named no more;
    `stopped` those of them that are to stay away even when a rebuild has paused and resumed all.
    `held` names services that are not repaired: a person has suspended them, or debugs them.
    """

    workers: int
    restarts: dict[str, int] = field(default_factory=dict)
    paused: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)

    def scaled(self, workers: int) -> "Wanted":
        """The wish with another number of workers.

        Raises:
            StackError: not 1 to 12; a partition has one owner, so more would stand idle.
        """
        if not 1 <= workers <= PARTITIONS:
            message = f"{workers} workers: expected 1 to {PARTITIONS}, one per partition"
            raise StackError(message)
        return replace(self, workers=workers)

    def restarted(self, name: str, done: int = 0) -> "Wanted":
        """The wish with one more restart of the worker `name`, which has had `done` of them.

        A wish that was deleted has forgotten them; whoever makes it so has not.
        """
        times = max(done, self.restarts.get(name, 0)) + 1
        return replace(self, restarts={**self.restarts, name: times})

    def without(self, *names: str) -> "Wanted":
        """The wish with these services paused, and no others."""
        return replace(self, paused=sorted(names), stopped=[])


def read_wanted(home: Home) -> Wanted | None:
    """The last wish, None if there never was one.

    Raises:
        StackError: the file is damaged, or another release has written it.
    """
    file = home.path / _FILE
    try:
        found = Wanted(**json.loads(file.read_text(encoding="utf-8")))
        return found.scaled(found.workers)  # refuses what is no number of workers
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, StackError) as error:
        message = f"{file}: expected what people want of the workers, found {error!r}"
        raise StackError(message, repair=f"rm {file}  # workers go on as they are") from error


def write_wanted(home: Home, wanted: Wanted) -> None:
    """Replace the wish in one step."""
    write_json(home.path / _FILE, asdict(wanted))
