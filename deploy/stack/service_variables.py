"""Variables that each service reads. Its process gets no other variable or secret of the stack.

`deploy.stack.context` and `deploy.compose` build environments from this table. So a service gets
the same variables in the local stack and in a container. `docs/security.md` shows the table.
"""

from dataclasses import dataclass
from typing import Final

PREFIX: Final = "INVENTORY_"
DATABASE_URL: Final = "DATABASE_URL"
_LOG: Final = ("HOME", "KAFKA_BOOTSTRAP", "PARTITIONS", "GENERATION")


@dataclass(frozen=True, slots=True)
class ServiceVariables:
    """Names of one service's variables without their prefix, and a Postgres role.

    `role` is the role of the variable `DATABASE_URL`. Without a role, the service doesn't get this
    variable.
    """

    names: tuple[str, ...]
    role: str = ""

    @property
    def variables(self) -> frozenset[str]:
        """Return the full names of all variables, such as `INVENTORY_HOME`.

        If the service has a role, `INVENTORY_DATABASE_URL` is one of them.
        """
        names = (*self.names, DATABASE_URL) if self.role else self.names
        return frozenset(PREFIX + name for name in names)


WORKER: Final = ServiceVariables((*_LOG, "QUERY_TOKEN"))
_SINK: Final = ServiceVariables(_LOG, role="sink_rw")
VARIABLES_OF_SERVICES: Final = {
    "worker": WORKER,
    "projector": _SINK,
    "actuator": _SINK,
    # The archiver needs Postgres only for its heartbeat row.
    "archiver": ServiceVariables(_LOG, role="archiver"),
    "heartbeat": ServiceVariables(("HOME", "PARTITIONS"), role="app_rw"),
    "automation": ServiceVariables(("HOME",), role="app_rw"),
    "webhooks": ServiceVariables(("HOME", "SECRET_KEY", "WEBHOOK_PRIVATE_TARGETS"), role="app_rw"),
    "prover": ServiceVariables(_LOG, role="app_rw"),
    "capture": ServiceVariables(("HOME", "CONNECT_URL", "CONNECT_PASSWORD"), role="app_rw"),
    "web": ServiceVariables(
        (
            *(*_LOG, "CONNECT_URL", "CONNECT_PASSWORD", "QUERY_TOKEN", "SECRET_KEY"),
            *("WEB_PORT", "DEMO", "WEBHOOK_PRIVATE_TARGETS"),
        ),
        role="app_rw",
    ),
    "seed": ServiceVariables(("HOME", "DEMO"), role="app_rw"),
    "trading": ServiceVariables(("HOME", "DEMO"), role="app_rw"),
    # No other process gets the URL with the rights of the tables' owner.
    "migrate": ServiceVariables(("HOME", "OWNER_DATABASE_URL")),
}


def service_variables(service: str) -> ServiceVariables:
    """Return the variables of a service. All workers have the same. An unknown service has none."""
    if service.startswith("worker-"):
        return WORKER
    return VARIABLES_OF_SERVICES.get(service, ServiceVariables(()))
