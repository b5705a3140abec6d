"""The exit codes of workers and sinks, with their meanings and repair commands.

The numbers follow sysexits.h where it has a suitable one. The supervisor restarts the process after
any of them, with a growing delay, and stores the last code. If a restart is not enough, an operator
must act: `inventory doctor` shows the meaning and the repair command that the process logged.
"""

from enum import IntEnum
from typing import Final

from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG

REBUILD: Final = "inventory workers rebuild --yes"
NEW_GENERATION: Final = "inventory down && inventory generation --yes && inventory up --detach"
START_AGAIN: Final = "inventory down && inventory up --detach"
_OR_NEWER: Final = "  # or start the newer code that wrote it"
# Repair of a dedupe ring that is too large. A replay alone would fill it again at the same record.
EMPTY_RING: Final = f"{NEW_GENERATION}  # if no partition has more than 500,000 captured rows"
_ACCEPT_UNDECODABLE: Final = (
    "inventory down && INVENTORY_UNDECODABLE_PERMILLE=1000 inventory up --detach  "
    "# if the undecodable records are no facts"
)


class ExitCode(IntEnum):
    """The exit code of a worker or sink. The last line of its log has the details."""

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
    ExitCode.FAILED: "an error without a code of its own",
    ExitCode.UNREADABLE: "a record of a version that this code doesn't know",
    ExitCode.LOG_MISMATCH: "a topic was deleted, recreated, truncated or got more partitions",
    ExitCode.BROKER: "the broker could not be reached, or refused a request",
    ExitCode.BROKEN_INVARIANT: "state and log contradict each other",
    ExitCode.DISK: "the disk was full, or a file could not be written",
    ExitCode.FENCED: "another worker owned a partition, or a transaction took too long",
    ExitCode.SCHEMA_BREAK: "more than 1 % of the last records could not be decoded",
    ExitCode.STUCK: "records or partitions waited without progress",
}


# The repair command for errors without a command of their own. Codes without an entry need only the
# supervisor's restart. `inventory verify` is no repair: it only compares, and it waits while a
# worker is stopped.
REPAIRS: Final = {
    ExitCode.UNREADABLE: f"{REBUILD}{_OR_NEWER}",
    ExitCode.LOG_MISMATCH: REBUILD,
    ExitCode.BROKER: "inventory restart kafka",
    ExitCode.BROKEN_INVARIANT: REBUILD,
    ExitCode.SCHEMA_BREAK: _ACCEPT_UNDECODABLE,
}


def repair_of_code(code: int) -> str:
    """Return the repair command for an exit code, or "" if it has none."""
    return REPAIRS[ExitCode(code)] if code in list(REPAIRS) else ""


def repair_at_topic(topic: str, code: ExitCode) -> str:
    """Return the repair command for a sink that can't continue in `topic`.

    For a changelog, it is a rebuild, which writes both changelogs again. Other topics (decisions,
    late sales, rejected records) need a new generation of the log: all rows are captured again.
    """
    is_changelog = topic in (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG)
    comment = _OR_NEWER if code is ExitCode.UNREADABLE else ""
    return f"{REBUILD if is_changelog else NEW_GENERATION}{comment}"


def meaning_of(code: int) -> str:
    """Return the meaning of an exit code. A negative code is the signal that ended the process."""
    if code < 0:
        return f"signal {-code}"
    return MEANINGS[ExitCode(code)] if code in list(ExitCode) else f"exit code {code}"
