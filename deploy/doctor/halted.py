"""Services whose process exits repeatedly, each with the reason of its last exit and the repair.

The supervisor restarts the process each time. So the service's state may be "running" between two
exits. The reason comes from the newest log line about the last exit. For a worker, it also comes
from the exit code.
"""

import time
from dataclasses import dataclass
from typing import Final

from deploy.stack.context import WORKER_PREFIX
from deploy.stack.exit_reason import ExitReason, exit_reason_of
from deploy.stack.home import Home
from deploy.stack.runtime import ServiceRuntime, read_runtime
from streams.exit_codes import meaning_of, repair_of_code

# A service that ended repeatedly counts as healthy again once it runs twice as long as its previous
# process. This takes at least 20 s and at most 120 s.
_UNSETTLED_S: Final = 120.0
_LEAST_S: Final = 20.0
_OFTEN: Final = 2
_REQUESTED_STATES: Final = (
    "paused",
    "stopping",
    "starting",
)  # caused by a command or by the start of the stack, not by a crash


@dataclass(frozen=True, slots=True)
class Halted:
    """A service, the reason of its last exit, and the repair."""

    service: str
    reason: str
    repair: str

    @property
    def description(self) -> str:
        """Return the service and its reason in one line."""
        return f"{self.service}: {self.reason}"


def halted(home: Home) -> list[Halted]:
    """Return the services that end repeatedly, ordered by name.

    The list has all such workers. Of the other services, it has only those that have
    logged a command as repair.
    """
    ends = [
        _halted_row(name, entry.last_exit, exit_reason_of(entry))
        for name, entry in sorted(read_runtime(home).services.items())
        if entry.last_exit and _keeps_ending(entry)
    ]
    return [each for each in ends if each is not None]


def _keeps_ending(entry: ServiceRuntime) -> bool:
    if entry.state in _REQUESTED_STATES:
        return False
    if entry.state != "running":
        return True
    ran_s = time.time() - (entry.started_at or 0.0)
    settled_s = min(max(_LEAST_S, 2 * entry.lived_s), _UNSETTLED_S)
    # An exit code of 0, or a signal (a negative code), is no failure of the service. So the service
    # is healthy as soon as it runs again.
    return (entry.last_exit or 0) > 0 and entry.ends_in_a_row >= _OFTEN and ran_s < settled_s


def _halted_row(service: str, code: int, reason: ExitReason) -> Halted | None:
    if not service.startswith(WORKER_PREFIX):
        return Halted(service, reason.problem, reason.repair) if reason.repair else None
    meaning = meaning_of(code)
    return Halted(
        service,
        reason=f"{meaning}: {reason.problem}" if reason.problem else meaning,
        repair=reason.repair or repair_of_code(code) or f"inventory restart {service}",
    )
