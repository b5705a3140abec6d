"""Commands that repair a service, and lists of commands that can be pasted as one line."""

from collections.abc import Iterable, Mapping
from typing import Final

from deploy.stack import fleet, observe
from deploy.stack.home import Home
from deploy.stack.observe import Seen

RESTART_ALL: Final = "inventory down && inventory up --detach"
WAIT: Final = "inventory up --detach"  # returns when every service does its work


def of_service(home: Home, seen: Seen, name: str, halted: Mapping[str, str]) -> str:
    """Return the command for one service that doesn't do its work; `halted` is by worker."""
    state = seen.states.get(name)
    if seen.supervisor != observe.RUNNING:
        return RESTART_ALL
    if state == observe.PAUSED:
        return fleet.way_back(home, name)
    if name in halted:
        return halted[name]
    return WAIT if state in observe.ON_ITS_WAY else f"inventory restart {name}"


def joined(commands: Iterable[str]) -> str:
    """Return the commands as one line, each once; comments go to its end.

    A comment between two commands would make a shell leave out the second.
    """
    parts = [command.partition("#") for command in dict.fromkeys(commands)]
    line = " ; ".join(dict.fromkeys(part[0].strip() for part in parts if part[0].strip()))
    comments = " ".join(part[2].strip() for part in parts if part[2])
    return f"{line}  # {comments}" if comments else line
