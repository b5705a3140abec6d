"""The failure of one service that is not ready, and its repair."""

from collections.abc import Mapping

from deploy.doctor.failures import Failure
from deploy.stack import fleet, observe
from deploy.stack.home import Home
from deploy.stack.observe import Seen
from deploy.stack.wanted import REPAIR


def of_service(home: Home, seen: Seen, name: str, halted: Mapping[str, str]) -> tuple[Failure, str]:
    """Return the failure and its repair; `halted` maps repeatedly ending services to repairs."""
    state = seen.states.get(name)
    if seen.supervisor != observe.RUNNING:
        return Failure.SUPERVISOR_AWAY, Failure.SUPERVISOR_AWAY.repair()
    if state == observe.PAUSED:
        way = fleet.way_back(home, name)
        return (Failure.HALF_REBUILT if way == REPAIR else Failure.SERVICE_PAUSED), way
    if name in halted:
        return Failure.SERVICE_HALTED, halted[name]
    kind = Failure.SERVICE_STARTS if state in observe.ON_ITS_WAY else Failure.SERVICE_DOWN
    return kind, kind.repair(service=name)
