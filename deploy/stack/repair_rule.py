"""Repair rule for a process that runs but doesn't answer, in the local stack and in containers.

A suspended process first gets SIGCONT and continues with its state. (If the session of a worker has
ended meanwhile, the broker fences the worker.) A process that isn't suspended and doesn't answer is
restarted.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

SUSPENDED_S: Final = 15.0
# If more seconds than this pass between two observations, the observer itself didn't run. Then the
# times of silence and suspension begin again at 0.
_GAP_S: Final = 30.0
# Seconds without an answer before a restart. Load may delay answers. A restart of Postgres, the
# broker or Connect affects all other services, so these three get more time. `automation` gets more
# time because one of its jobs may take a minute.
_SILENT_S: Final = {"postgres": 120.0, "kafka": 120.0, "connect": 120.0, "automation": 180.0}
_OTHERS_S: Final = 60.0


class Repair(Enum):
    """The repair step that is due for a process."""

    NONE = "nothing"
    CONTINUE = "SIGCONT"
    RESTART = "restart"


def silent_limit_s(name: str) -> float:
    """Return the seconds after which a service that doesn't answer is restarted."""
    return _SILENT_S.get(name, _OTHERS_S)


@dataclass(slots=True)
class RepairRule:
    """Observations of one process, and the repair that follows from them.

    A process is repaired if it doesn't answer for `silent_s` seconds, or is suspended for
    `suspended_s` seconds. `reason` is a text about the newest repair.
    """

    silent_s: float
    suspended_s: float = SUSPENDED_S
    reason: str = ""
    _probed_at: float | None = field(default=None, init=False)
    _answered_at: float = field(default=0.0, init=False)
    _suspended_at: float | None = field(default=None, init=False)
    _continued: bool = field(default=False, init=False)

    def due_repair(self, now: float, *, suspended: bool, answer: bool | None) -> Repair:
        """Take one observation, and return the repair that is due.

        `now` is in seconds of a monotonic clock. `answer` is the probe's result. None is an unknown
        result, and counts as an answer.
        """
        if self._probed_at is None or now - self._probed_at > _GAP_S:
            self._answered_at, self._suspended_at = now, None
        self._probed_at = now
        if suspended:
            return self._suspended_repair(now)
        self._suspended_at = None
        if answer is not False:
            self._answered_at, self._continued = now, False
            return Repair.NONE
        silent_for_s = now - self._answered_at
        if silent_for_s < self.silent_s:
            return Repair.NONE
        self.reason = f"no answer for {silent_for_s:.0f} s"
        return Repair.RESTART

    def _suspended_repair(self, now: float) -> Repair:
        self._answered_at = now  # silence counts from the end of the suspension
        self._suspended_at = now if self._suspended_at is None else self._suspended_at
        for_s = now - self._suspended_at
        if for_s < self.suspended_s:
            return Repair.NONE
        self.reason = f"suspended by a signal for {for_s:.0f} s"
        if self._continued:
            return Repair.RESTART
        self._continued, self._suspended_at = True, now
        return Repair.CONTINUE
