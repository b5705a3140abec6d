"""Repair rule for a process that runs but doesn't answer, used locally and in containers.

A suspended process first gets SIGCONT: it continues with its state. If a worker's session has ended
meanwhile, the broker fences that worker. A process that doesn't answer is ended and restarted.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Final

SUSPENDED_S: Final = 15.0
# If the gap between two observations is longer, the observer itself was delayed. It then measures
# silence and suspension from the beginning again.
_GAP_S: Final = 30.0
# Seconds without an answer before a restart. Load on the machine may delay answers. All other
# services need Postgres, the broker and Connect, so these three get more time.
_SILENT_S: Final = {"postgres": 120.0, "kafka": 120.0, "connect": 120.0, "automation": 180.0}
_OTHERS_S: Final = 60.0


class Repair(Enum):
    """One repair step for a process."""

    NONE = "nothing"
    CONTINUE = "SIGCONT"
    RESTART = "restart"


def silent_limit_s(name: str) -> float:
    """Return the number of seconds for which the probe of the service `name` may fail."""
    return _SILENT_S.get(name, _OTHERS_S)


@dataclass(slots=True)
class RepairRule:
    """Observations of one process; `silent_s` and `suspended_s` are the limits (s) for a repair."""

    silent_s: float
    suspended_s: float = SUSPENDED_S
    reason: str = ""
    _probed_at: float | None = field(default=None, init=False)
    _answered_at: float = field(default=0.0, init=False)
    _suspended_at: float | None = field(default=None, init=False)
    _continued: bool = field(default=False, init=False)

    def due_repair(self, now: float, *, suspended: bool, answer: bool | None) -> Repair:
        """Return the repair that is due at `now`, in seconds of a monotonic clock.

        An `answer` of None is an unknown result, and counts as a success.
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
