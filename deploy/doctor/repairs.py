"""Join several repair commands into one line, which a person can paste into a shell."""

import re
from collections.abc import Iterable
from typing import Final

from streams.exit_codes import START_AGAIN

RESTART_ALL: Final = START_AGAIN
# The start of a comment: `#` as the first character, or after two spaces. Another `#`, for example
# in a quoted path, starts no comment.
_COMMENT: Final = re.compile(r"(?:^|  )#")


def joined(commands: Iterable[str]) -> str:
    """Return the commands as one line without duplicates, with all comments at the end of the line.

    A shell takes everything after `#` as a comment, so it would ignore a second command there.
    """
    parts = [(*_COMMENT.split(command, maxsplit=1), "")[:2] for command in dict.fromkeys(commands)]
    line = " ; ".join(dict.fromkeys(words.strip() for words, _ in parts if words.strip()))
    comments = " ".join(comment.strip() for _, comment in parts if comment)
    return f"{line}  # {comments}" if comments else line
