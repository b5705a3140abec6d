"""Exit codes of a worker: a restart cures some endings, and a person has to act on the others.

The numbers are those of sysexits.h where that has a fitting one. The supervisor starts the process
again after any of them, with a growing delay, and keeps the last one; `inventory doctor` explains,
and names the way out that the worker has written into its log.
"""

from enum import IntEnum
from typing import Final

REBUILD: Final = "inventory workers rebuild --yes"
NEW_GENERATION: Final = "inventory down && inventory generation --yes && inventory up --detach"
_NEWER_CODE: Final = f"{REBUILD}  # or start the newer code that wrote it"
_TAKE_ALL: Final = (
    "inventory down && INVENTORY_UNDECODABLE_PERMILLE=1000 inventory up --detach  "
    "# if they are no facts"
)


class Ending(IntEnum):
    """Why a worker has ended; the line before its end in the log says what it saw."""

    FAILED = 1
    UNREADABLE = 65
    LOG_MISMATCH = 66
    BROKER = 69
    BROKEN_INVARIANT = 70
    DISK = 74
    FENCED = 75
    SCHEMA_BREAK = 76
    STUCK = 124


MEANINGS: Final = {
    Ending.FAILED: "an error without a code of its own",
    Ending.UNREADABLE: "a changelog record of an unknown version",
    Ending.LOG_MISMATCH: "a topic was deleted, made anew, cut off or grown",
    Ending.BROKER: "the broker could not be reached or refused",
    Ending.BROKEN_INVARIANT: "state and log contradict each other",
    Ending.DISK: "the disk was full, or took no file",
    Ending.FENCED: "another worker owned a partition, or a transaction took too long",
    Ending.SCHEMA_BREAK: "more than 1 % of the last records could not be decoded",
    Ending.STUCK: "records or partitions waited and nothing moved",
}


# The command that helps, where an error names no other; nothing where a restart does.
# `inventory verify` is none of them: it waits for the worker that halts, and compares nothing.
WAYS_OUT: Final = {
    Ending.UNREADABLE: _NEWER_CODE,
    Ending.LOG_MISMATCH: REBUILD,
    Ending.BROKER: "inventory restart kafka",
    Ending.BROKEN_INVARIANT: REBUILD,
    Ending.SCHEMA_BREAK: _TAKE_ALL,
}


def way_out_of(code: int) -> str:
    """The command that helps after an exit code, if there is one for all its reasons."""
    return WAYS_OUT[Ending(code)] if code in list(WAYS_OUT) else ""


def meaning_of(code: int) -> str:
    """What an exit code of a worker says, in words; a negative one is the signal that ended it."""
    if code < 0:
        return f"signal {-code}"
    return MEANINGS[Ending(code)] if code in list(Ending) else f"exit code {code}"
