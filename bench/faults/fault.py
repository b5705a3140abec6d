"""Definition of one fault: its cause, and the expected `inventory status` during the damage."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bench.faults.stack_under_test import StackUnderTest

Status = dict[str, Any]
Cause = Callable[[StackUnderTest], None]
Check = Callable[[StackUnderTest], bool]
SERVICES: Final = (
    *("postgres", "kafka", "connect", "worker-1", "worker-2", "projector", "actuator"),
    *("archiver", "heartbeat", "automation", "webhooks", "capture", "prover"),
    *("web", "trading"),
)


@dataclass(frozen=True, slots=True)
class Expected:
    """Two checks of the damage that one fault causes.

    `is_broken` returns True while the damage exists. `is_shown` returns True if the output of
    `inventory status` is right for this damage. For most faults, it must mention the damage.
    """

    is_broken: Check
    is_shown: Callable[[Status], bool]


@dataclass(frozen=True, slots=True)
class Fault:
    """One kind of damage to the stack.

    `prepare` reads the healthy stack and returns the checks to use after `cause`. If `heals` is
    true, the stack has 60 s to repair itself. If damage is left, the bench runs the repair commands
    that `doctor` prints. `repairs_of` is set if `doctor` doesn't find the damage: it returns the
    repair commands of another command, to run instead. `undo` runs at the end.
    """

    name: str
    cause: Cause
    prepare: Callable[[StackUnderTest], Expected]
    heals: bool = True
    repairs_of: Callable[[StackUnderTest], list[str]] | None = None
    undo: Cause = lambda _stack: None


def mentions(*words: str) -> Callable[[Status], bool]:
    """Return a check that `status` failed with a message that contains one of `words`."""

    def is_shown(status: Status) -> bool:
        problems = [f"{row['name']}: {row['found']}" for row in status.get("problems", ())]
        text = " ".join([*status.get("not_well", ()), *problems, str(status.get("error", ""))])
        return status["exit_code"] != 0 and any(word in text for word in words)

    return is_shown


def is_well(status: Status) -> bool:
    """Return True if `status` found nothing wrong."""
    return bool(status["exit_code"] == 0)


def never_broken(_stack: StackUnderTest) -> bool:
    """Return False. Use it for damage that leaves every service working."""
    return False
