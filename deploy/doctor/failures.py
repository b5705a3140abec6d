"""Every failure that `doctor` and `status` can report: the name of its row, and its repair command.

The table is complete, because only `row_of` makes rows that are not ok, and it takes members of
`Failure`. `tests/house/test_repairs` compares the table with the tests that cause each failure and
run its command.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from analytics.archive.entries import REARCHIVE, UNLISTED
from deploy.doctor.repairs import RESTART_ALL, joined
from deploy.doctor.row import Row, Verdict
from deploy.stack.capture import CAPTURE_AGAIN, RESTART, RESUME
from deploy.stack.runtime import UP
from inventory.revision import LOGIC_REVISION
from streams.exit_codes import NEW_GENERATION, REBUILD

_PYTHON: Final = "{apt} && {again} PYTHON=python3.11"
_PROMOTE: Final = f"inventory revision promote {LOGIC_REVISION}"
_ROLL_BACK: Final = "inventory backfill rollback"


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """Name, repair command and verdict of a row.

    The methods of `Failure` replace placeholders like `{repair}` by texts.
    """

    row: str
    repair: str
    verdict: Verdict = "failure"


class Failure(Enum):
    """One kind of failure that a check can find."""

    STACK_DOWN = Entry("stack", UP, "warning")
    START_FAILED = Entry("stack", "{repair}", "warning")  # from the error that ended the start
    # The machine.
    OTHER_PYTHON = Entry("python", _PYTHON)
    NO_JAVA = Entry("java", "{repair}")
    OLD_JAVA = Entry("java", "{first}{repair}")
    NO_PROGRAM = Entry("{name}", "{repair}")
    NO_OPTIONAL_PROGRAM = Entry("{name}", "{repair}", "warning")
    POSTGRES_PROGRAMS = Entry("postgres binaries", "{repair}")
    NO_JVM_PARTS = Entry("jvm parts", "inventory fetch")
    CHANGED_JVM_PARTS = Entry("jvm parts", "rm -rf {root} && inventory fetch")
    LITTLE_MEMORY = Entry("memory", "{repair}", "warning")
    LITTLE_DISK = Entry("disk", "{repair}", "warning")
    FULL_DISK = Entry("disk", "{repair}")
    CLOSED_HOME = Entry("home", "{repair}")
    # The running stack.
    NO_ANSWER = Entry("{name}", "{restart}")  # restarts the service that did not answer
    SUPERVISOR_AWAY = Entry("services", RESTART_ALL)
    SERVICE_DOWN = Entry("services", "inventory restart {service}")
    SERVICE_HALTED = Entry("services", "{repair}")  # the same repair as for WORKER_HALTED
    SERVICE_PAUSED = Entry("services", "inventory workers start {service}")
    HALF_REBUILT = Entry("services", REBUILD)
    SERVICE_STARTS = Entry("services", UP, "warning")  # `up` returns when the service is ready
    WORKER_HALTED = Entry("workers", "{repair}")  # from the log, or from the exit code
    OTHER_WAL_LEVEL = Entry("wal_level", RESTART_ALL)
    LOST_SLOT = Entry("slot", CAPTURE_AGAIN)
    IDLE_SLOT = Entry("slot", RESUME)
    SLOT_BEHIND = Entry("slot", RESTART)
    PUBLICATION_CHANGED = Entry("publication", CAPTURE_AGAIN)
    IDENTITY_NOT_FULL = Entry("replica identity", CAPTURE_AGAIN)
    CONNECTOR_PAUSED = Entry("connector", RESUME, "warning")
    CAPTURE_DAMAGED = Entry("connector", CAPTURE_AGAIN)
    CONNECTOR_DIFFERS = Entry("connector", RESUME)
    TOPIC_DIFFERS = Entry("topics", RESTART_ALL)
    CHANGELOG_DIFFERS = Entry("topics", REBUILD)
    LOG_DIFFERS = Entry("topics", NEW_GENERATION)
    OTHER_RULES_DECIDE = Entry(
        "rules", f"{_PROMOTE}{{without}}  # or deploy the code of revision {{decides}}", "warning"
    )
    SWITCHED_TO_OTHER_RULES = Entry(
        "rules", f"{_ROLL_BACK}{{without}}  # or deploy the code of revision {{decides}}", "warning"
    )
    LAG = Entry("lag", "{repair}", "warning")  # restarts the reader that lags
    ARCHIVE_DAMAGED = Entry("archive", REARCHIVE)
    ARCHIVE_FILE_UNLISTED = Entry("archive", UNLISTED)
    PROOF_DIFFERS = Entry("proof", "inventory backfill prove --full")
    PROOF_OLD = Entry("proof", "inventory backfill prove", "warning")
    STALE = Entry("freshness", "{repair}", "warning")  # restarts the first stage without progress

    def repair(self, **names: object) -> str:
        """Return the repair command. `names` maps each of its placeholders to a text."""
        return self.value.repair.format(**names)

    def row(self, found: str, **names: object) -> Row:
        """Return the row of this failure with the text `found`; `names` fills in placeholders."""
        return row_of(found, [(self, self.repair(**names))], self.value.row.format(**names))


def row_of(found: str, failures: list[tuple[Failure, str]], name: str = "") -> Row:
    """Return one row for all `failures`, which are pairs of a failure and its repair command.

    The row has all commands and the worst of the verdicts. Without `name`, it has the name of the
    first failure.
    """
    verdicts = {failure.value.verdict for failure, _ in failures}
    return Row(
        name or failures[0][0].value.row,
        "failure" if "failure" in verdicts else "warning",
        found,
        joined(repair for _, repair in failures),
        tuple(dict.fromkeys(failure.name.lower() for failure, _ in failures)),
    )
