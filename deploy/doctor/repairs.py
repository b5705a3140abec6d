"""Join several repair commands into one line that a person can paste into a shell."""

from collections.abc import Iterable
from typing import Final

from streams.exit_codes import START_AGAIN

RESTART_ALL: Final = START_AGAIN


def joined(commands: Iterable[str]) -> str:
    """Return the commands as one line without duplicates; comments move to its end.

    A comment between two commands would hide the second one from the shell.
    """
    parts = [command.partition("#") for command in dict.fromkeys(commands)]
    line = " ; ".join(dict.fromkeys(part[0].strip() for part in parts if part[0].strip()))
    comments = " ".join(part[2].strip() for part in parts if part[2])
    return f"{line}  # {comments}" if comments else line
