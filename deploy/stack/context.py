"""Data from which every service definition is made: paths, ports, secrets, JVM parts, options."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from cdc.contracts.topics import PARTITIONS
from deploy.artifacts.fetch import Artifacts
from deploy.errors import StackError
from deploy.parts import DATABASE, FIRST_COMPILER, JVM_COMPILERS
from deploy.stack.home import Home
from deploy.stack.service_variables import service_variables

INFRASTRUCTURE: Final = ("postgres", "kafka", "connect")
# Map from service name to the module that the service runs, in the order of the start.
APPLICATIONS: Final = {
    "projector": "streams.sinks.projector",
    "actuator": "streams.sinks.actuator",
    "archiver": "analytics.archive",
    "heartbeat": "ledger.automation.heartbeat",
    "automation": "ledger.automation",
    "webhooks": "ledger.webhooks",
    "capture": "cdc.capture.reconciler",
    "prover": "deploy.proving",
    "web": "webui",
}
WORKER_MODULE: Final = "streams.worker"
STEPS: Final = ("migrate", "topics", "connector")
HOST: Final = "127.0.0.1"
DEFAULT_WORKERS: Final = 2
WORKER_PREFIX: Final = "worker-"
# Variables for the speed, latency and time limits of processes. An operator may set them.
_TUNING: Final = (
    "LOG_LEVEL CHUNK_RECORDS SESSION_TIMEOUT_S REPUBLISH_S SNAPSHOT_S STALL_S SINK_BATCH_RECORDS"
    " SINK_POLL_MS UNDECODABLE_PERMILLE"
)
TUNING_VARIABLES: Final = frozenset(f"INVENTORY_{name}" for name in _TUNING.split())
# Variables about the company that runs the stack. Purchase orders and pages show their values.
COMPANY: Final = frozenset(
    f"INVENTORY_{name}" for name in ("COMPANY_NAME", "COMPANY_ADDRESS", "CURRENCY", "TIME_ZONE")
)
# Variables for the targets and time limits of webhooks.
WEBHOOKS: Final = frozenset(
    f"INVENTORY_WEBHOOK_{name}" for name in ("PRIVATE_TARGETS", "TIMEOUT_S", "WAIT_DAYS")
)
# Address at which the sender of webhooks publishes its metrics.
WEBHOOK_METRICS: Final = frozenset(
    f"INVENTORY_{name}" for name in ("WEBHOOK_METRICS_HOST", "WEBHOOK_METRICS_PORT")
)
PROOFS: Final = frozenset({"INVENTORY_PROOF_HOUR"})
# Addresses at which browsers reach the pages through a proxy.
PUBLIC: Final = frozenset(
    f"INVENTORY_{name}" for name in ("HTTPS", "ALLOWED_HOSTS", "TRUSTED_ORIGINS")
)
# Variables for logins: their duration, roles that need a second factor, trusted proxies.
SESSIONS: Final = frozenset(
    f"INVENTORY_{name}"
    for name in ("IDLE_MINUTES", "SESSION_HOURS", "SECOND_FACTOR_ROLES", "TRUSTED_PROXIES")
)
# Size of the pool of connections to Postgres. Only the web server has a pool.
POOL: Final = frozenset({"INVENTORY_DATABASE_POOL"})
_PASSED_ON: Final = (
    TUNING_VARIABLES | COMPANY | PROOFS | PUBLIC | SESSIONS | WEBHOOKS | WEBHOOK_METRICS
)


@dataclass(frozen=True, slots=True)
class Options:
    """Options of the start of a stack.

    `only` has the names of the services and steps to start, all if it is empty. `ports` has wanted
    ports by service name.
    """

    workers: int = DEFAULT_WORKERS
    only: tuple[str, ...] = ()
    seed_data: str = "none"
    demo: bool = False
    ports: Mapping[str, int] = field(default_factory=dict)
    jvm_compilers: str = FIRST_COMPILER

    def wants(self, name: str) -> bool:
        """Return True if this stack has the service or step `name`."""
        return not self.only or name in self.only

    def check(self) -> None:
        """Raise `StackError` for a value that no stack accepts."""
        known = {*INFRASTRUCTURE, *APPLICATIONS, *STEPS, *worker_names(self.workers)}
        unknown = sorted(set(self.only) - known)
        if unknown:
            message = f"--only {unknown[0]!r}: expected names from: {', '.join(sorted(known))}"
            raise StackError(message)
        if not 1 <= self.workers <= PARTITIONS:
            message = f"--workers {self.workers}: expected 1 to {PARTITIONS}, one per partition"
            raise StackError(message)
        if self.seed_data not in ("none", "demo"):
            message = f"--seed-data {self.seed_data!r}: expected none or demo"
            raise StackError(message)
        if self.jvm_compilers not in JVM_COMPILERS:
            known_names = " or ".join(JVM_COMPILERS)
            message = f"INVENTORY_JVM_COMPILERS={self.jvm_compilers!r}: expected {known_names}"
            raise StackError(message)


def worker_names(count: int) -> tuple[str, ...]:
    """Return the names of `count` stream workers: `worker-1`, `worker-2` and so on."""
    return tuple(f"{WORKER_PREFIX}{number}" for number in range(1, count + 1))


def in_worker_order(names: Iterable[str]) -> list[str]:
    """Return the names of workers among `names`, by number: `worker-2` comes before `worker-10`."""
    workers = (name for name in names if name.startswith(WORKER_PREFIX))
    return sorted(workers, key=lambda name: (len(name), name))


@dataclass(frozen=True, slots=True)
class Context:
    """One stack. The definition of each service is made from this data."""

    home: Home
    options: Options
    ports: Mapping[str, int]
    secrets: Mapping[str, str] = field(repr=False)
    artifacts: Artifacts | None = None
    java: str = ""
    generation: int = 1

    @property
    def kafka_bootstrap(self) -> str:
        """Bootstrap address of the broker, `host:port`."""
        return f"{HOST}:{self.ports['kafka']}"

    @property
    def connect_url(self) -> str:
        """URL of Connect's REST interface."""
        return f"http://{HOST}:{self.ports['connect']}"

    @property
    def web_url(self) -> str:
        """URL of the pages."""
        return f"http://{HOST}:{self.ports['web']}"

    def database_url(self, role: str, database: str = DATABASE) -> str:
        """Return the Postgres URL for one role, with the password."""
        return (
            f"postgresql://{role}:{self.secrets[role]}@{HOST}:{self.ports['postgres']}/{database}"
        )

    def variables(self) -> dict[str, str]:
        """Return the `INVENTORY_*` variables for an operator's commands.

        They contain the company and the rules for sessions, so that commands in another shell use
        the same company and rules. A service gets only the variables that it reads
        (`variables_of`).
        """
        local = {"INVENTORY_WEBHOOK_PRIVATE_TARGETS": "1"} if self.options.demo else {}
        local |= {name: os.environ[name] for name in COMPANY | SESSIONS if name in os.environ}
        return local | {
            "INVENTORY_HOME": str(self.home.path),
            "INVENTORY_KAFKA_BOOTSTRAP": self.kafka_bootstrap,
            "INVENTORY_CONNECT_URL": self.connect_url,
            "INVENTORY_CONNECT_PASSWORD": self.secrets["connect"],
            "INVENTORY_DATABASE_URL": self.database_url("app_rw"),
            "INVENTORY_OWNER_DATABASE_URL": self.database_url("retail_owner"),
            "INVENTORY_SINK_DATABASE_URL": self.database_url("sink_rw"),
            "INVENTORY_READ_DATABASE_URL": self.database_url("app_ro"),
            "INVENTORY_QUERY_TOKEN": self.secrets["query_token"],
            "INVENTORY_SECRET_KEY": self.secrets["secret_key"],
            "INVENTORY_WEB_PORT": str(self.ports["web"]),
            "INVENTORY_DEMO": "1" if self.options.demo else "0",
            "INVENTORY_PARTITIONS": str(PARTITIONS),
            "INVENTORY_GENERATION": str(self.generation),
        }

    def variables_of(self, service: str) -> dict[str, str]:
        """Return the variables that `service` reads, as `deploy.stack.service_variables` lists."""
        needs = service_variables(service)
        found = {name: text for name, text in self.variables().items() if name in needs.variables}
        if needs.role:
            found["INVENTORY_DATABASE_URL"] = self.database_url(needs.role)
        return found

    def environment(self, service: str = "", **extra: str) -> dict[str, str]:
        """Return a child's environment: inherited variables, those of `service`, and `extra`.

        The child inherits only those `INVENTORY_*` variables that an operator may set. Without a
        service, it gets no other variable of the stack, except those in `extra`.
        """
        passed_on = _PASSED_ON | POOL if service == "web" else _PASSED_ON
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name in passed_on or not name.startswith("INVENTORY_")
        }
        return inherited | {"PYTHONUNBUFFERED": "1"} | self.variables_of(service) | extra
