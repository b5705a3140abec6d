"""Value of one fault: its cause, and what `inventory status` has to show while the damage lasts."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from bench.faults.ground import Ground

Status = dict[str, Any]
Cause = Callable[[Ground], None]
Truth = Callable[[Ground], bool]
SERVICES: Final = (
    *("postgres", "kafka", "connect", "worker-1", "worker-2", "projector", "actuator"),
    *("archiver", "heartbeat", "automation", "capture", "web", "trading"),
)


@dataclass(frozen=True, slots=True)
class Expected:
    """Two questions: is the damage still there, and does a `status` show the truth about it?"""

    is_broken: Truth
    is_shown: Callable[[Status], bool]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that goes wrong.

    `prepare` reads the sound stack and returns what to expect once `cause` has run. Repairs are
    those that `doctor` prints, or those of `repairs_of` if the damage shows elsewhere. The bench
    waits for a repair by the stack itself if `heals` is true. `undo` runs at the end.
    """

    name: str
    cause: Cause
    prepare: Callable[[Ground], Expected]
    heals: bool = True
    repairs_of: Callable[[Ground], list[str]] | None = None
    undo: Cause = lambda _ground: None


def named(*words: str) -> Callable[[Status], bool]:
    """Return a question to a failing `status`: does a sentence hold one of the words?"""

    def is_shown(status: Status) -> bool:
        problems = [f"{row['name']}: {row['found']}" for row in status.get("problems", ())]
        text = " ".join([*status.get("not_well", ()), *problems, str(status.get("error", ""))])
        return status["exit_code"] != 0 and any(word in text for word in words)

    return is_shown


def is_well(status: Status) -> bool:
    """Return whether `status` found nothing wrong."""
    return bool(status["exit_code"] == 0)


def sound(_ground: Ground) -> bool:
    """Return false: the damage leaves every service at work."""
    return False
