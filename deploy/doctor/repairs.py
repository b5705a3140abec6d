"""Join several repair commands into one line that a person can paste into a shell."""

import re
from collections.abc import Iterable
from typing import Final

from streams.exit_codes import START_AGAIN

RESTART_ALL: Final = START_AGAIN
# The start of a command's comment. A `#` in a quoted path starts no comment.
_COMMENT: Final = re.compile(r"(?:^|  )#")


def joined(commands: Iterable[str]) -> str:
    """Return the commands as one line without duplicates; comments move to its end.

    A comment between two commands would hide the second one from the shell.
    """
    parts = [(*_COMMENT.split(command, maxsplit=1), "")[:2] for command in dict.fromkeys(commands)]
    line = " ; ".join(dict.fromkeys(words.strip() for words, _ in parts if words.strip()))
    comments = " ".join(comment.strip() for _, comment in parts if comment)
    return f"{line}  # {comments}" if comments else line
