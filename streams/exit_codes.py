"""Exit codes of workers and sinks. A restart cures some failures; others need an operator.

The numbers follow sysexits.h where it has a suitable one. The supervisor restarts the process after
any of them, with a growing delay, and stores the last code. `inventory doctor` explains it and
shows the repair command that the process logged.
"""

from enum import IntEnum
from typing import Final

from cdc.contracts.topics import ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG

REBUILD: Final = "inventory workers rebuild --yes"
NEW_GENERATION: Final = "inventory down && inventory generation --yes && inventory up --detach"
START_AGAIN: Final = "inventory down && inventory up --detach"
_OR_NEWER: Final = "  # or start the newer code that wrote it"
_ACCEPT_UNDECODABLE: Final = (
    "inventory down && INVENTORY_UNDECODABLE_PERMILLE=1000 inventory up --detach  "
    "# if they are no facts"
)


class ExitCode(IntEnum):
    """The reason for a worker's end. The last log line before it has the details."""

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
    ExitCode.UNREADABLE: "a changelog record of an unknown version",
    ExitCode.LOG_MISMATCH: "a topic was deleted, recreated, truncated or got more partitions",
    ExitCode.BROKER: "the broker could not be reached or refused",
    ExitCode.BROKEN_INVARIANT: "state and log contradict each other",
    ExitCode.DISK: "the disk was full, or took no file",
    ExitCode.FENCED: "another worker owned a partition, or a transaction took too long",
    ExitCode.SCHEMA_BREAK: "more than 1 % of the last records could not be decoded",
    ExitCode.STUCK: "records or partitions waited and nothing moved",
}


# The repair command for errors that name none; no entry if a restart suffices. `inventory verify`
# is not a repair: it waits for the stopped worker and compares nothing.
REPAIRS: Final = {
    ExitCode.UNREADABLE: f"{REBUILD}{_OR_NEWER}",
    ExitCode.LOG_MISMATCH: REBUILD,
    ExitCode.BROKER: "inventory restart kafka",
    ExitCode.BROKEN_INVARIANT: REBUILD,
    ExitCode.SCHEMA_BREAK: _ACCEPT_UNDECODABLE,
}


def repair_of_code(code: int) -> str:
    """Return the repair command for an exit code, or "" if no command fits all its reasons."""
    return REPAIRS[ExitCode(code)] if code in list(REPAIRS) else ""


def repair_at_topic(topic: str, code: ExitCode) -> str:
    """Return the repair command for a sink that can't continue in `topic`.

    A rebuild writes the changelogs again. Topics of decisions, late sales and rejected records are
    written again only with the complete log.
    """
    is_changelog = topic in (ON_HAND_CHANGELOG, SALES_WINDOWS_CHANGELOG)
    comment = _OR_NEWER if code is ExitCode.UNREADABLE else ""
    return f"{REBUILD if is_changelog else NEW_GENERATION}{comment}"


def meaning_of(code: int) -> str:
    """Return the meaning of a worker's exit code. A negative code is the signal that ended it."""
    if code < 0:
        return f"signal {-code}"
    return MEANINGS[ExitCode(code)] if code in list(ExitCode) else f"exit code {code}"
