"""The failure of one service that is not ready, and its repair."""

from collections.abc import Mapping

from deploy.doctor.failures import Failure
from deploy.stack import observe, service_commands
from deploy.stack.home import Home
from deploy.stack.observe import StackState
from deploy.stack.requested import REPAIR


def service_failure(
    home: Home, seen: StackState, name: str, halted: Mapping[str, str]
) -> tuple[Failure, str]:
    """Return the failure of the service `name`, which isn't ready, and the repair command.

    `halted` maps the name of each service that ends repeatedly to its repair.
    """
    state = seen.states.get(name)
    if seen.supervisor != observe.RUNNING:
        return Failure.SUPERVISOR_AWAY, Failure.SUPERVISOR_AWAY.repair()
    if state == observe.PAUSED:
        way = service_commands.resume_command(home, name)
        return (Failure.HALF_REBUILT if way == REPAIR else Failure.SERVICE_PAUSED), way
    if name in halted:
        return Failure.SERVICE_HALTED, halted[name]
    kind = Failure.SERVICE_STARTS if state in observe.IN_TRANSITION else Failure.SERVICE_DOWN
    return kind, kind.repair(service=name)
