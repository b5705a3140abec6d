"""The rule by which a process that runs but doesn't serve is repaired, locally and in containers.

A suspended process gets SIGCONT first: it goes on with all it has, and a worker whose session has
ended meanwhile is fenced by the broker. A process that doesn't answer is ended and started again.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

SUSPENDED_S: Final = 15.0
# A gap between two looks says that the observer itself was held up, so it saw nothing.
_GAP_S: Final = 30.0
# Seconds without an answer after which a restart is worth its price. Postgres, the broker and
# Connect are asked by everything else, and a machine under load may hold each of them up.
_SILENT_S: Final = {"postgres": 120.0, "kafka": 120.0, "connect": 120.0, "automation": 180.0}
_OTHERS_S: Final = 60.0


class Repair(Enum):
    """One step that the observer of a process takes."""

    NONE = "nothing"
    CONTINUE = "SIGCONT"
    RESTART = "restart"


def silent_limit_s(name: str) -> float:
    """Return how many seconds the service `name` may leave its probe unanswered."""
    return _SILENT_S.get(name, _OTHERS_S)


@dataclass(slots=True)
class Watch:
    """One process as its observer has seen it; `silent_s` and `suspended_s` are its limits."""

    silent_s: float
    suspended_s: float = SUSPENDED_S
    reason: str = ""
    _looked_at: float | None = field(default=None, init=False)
    _answered_at: float = field(default=0.0, init=False)
    _suspended_at: float | None = field(default=None, init=False)
    _continued: bool = field(default=False, init=False)

    def look(self, now: float, *, suspended: bool, answer: bool | None) -> Repair:
        """Return the repair that is due at `now` seconds of a steady clock.

        An `answer` of None is unknown, and counts as one.
        """
        if self._looked_at is None or now - self._looked_at > _GAP_S:
            self._answered_at, self._suspended_at = now, None
        self._looked_at = now
        if suspended:
            return self._look_suspended(now)
        self._suspended_at = None
        if answer is not False:
            self._answered_at, self._continued = now, False
            return Repair.NONE
        silent_for_s = now - self._answered_at
        if silent_for_s < self.silent_s:
            return Repair.NONE
        self.reason = f"no answer for {silent_for_s:.0f} s"
        return Repair.RESTART

    def _look_suspended(self, now: float) -> Repair:
        self._answered_at = now  # silence is counted from the end of the suspension
        self._suspended_at = now if self._suspended_at is None else self._suspended_at
        for_s = now - self._suspended_at
        if for_s < self.suspended_s:
            return Repair.NONE
        self.reason = f"suspended by a signal for {for_s:.0f} s"
        if self._continued:
            return Repair.RESTART
        self._continued, self._suspended_at = True, now
        return Repair.CONTINUE
