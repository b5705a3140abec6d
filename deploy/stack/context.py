"""Data that every service definition reads: paths, ports, secrets, JVM parts and options."""

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
# Service name to the module that it runs, in starting order.
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
# Variables that an operator may set for a stack's processes: cost, latency and time limits.
_TUNING: Final = (
    "LOG_LEVEL CHUNK_RECORDS SESSION_TIMEOUT_S REPUBLISH_S SNAPSHOT_S STALL_S SINK_BATCH_RECORDS"
    " SINK_POLL_MS UNDECODABLE_PERMILLE"
)
TUNING_VARIABLES: Final = frozenset(f"INVENTORY_{name}" for name in _TUNING.split())
# Variables about the company that runs the stack; its purchase orders and pages show the values.
COMPANY: Final = frozenset(
    f"INVENTORY_{name}" for name in ("COMPANY_NAME", "COMPANY_ADDRESS", "CURRENCY", "TIME_ZONE")
)
# Targets and time limits of webhooks; a demo allows targets on this machine.
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
# Duration of logins, roles that need a second factor, trusted proxies.
SESSIONS: Final = frozenset(
    f"INVENTORY_{name}"
    for name in ("IDLE_MINUTES", "SESSION_HOURS", "SECOND_FACTOR_ROLES", "TRUSTED_PROXIES")
)
# Size of the connection pool. Only the web server has a pool; jobs use one connection.
POOL: Final = frozenset({"INVENTORY_DATABASE_POOL"})
_PASSED_ON: Final = (
    TUNING_VARIABLES | COMPANY | PROOFS | PUBLIC | SESSIONS | WEBHOOKS | WEBHOOK_METRICS
)


@dataclass(frozen=True, slots=True)
class Options:
    """Options that an operator may set when starting a stack."""

    workers: int = DEFAULT_WORKERS
    only: tuple[str, ...] = ()
    seed_data: str = "none"
    demo: bool = False
    ports: Mapping[str, int] = field(default_factory=dict)
    jvm_compilers: str = FIRST_COMPILER

    def wants(self, name: str) -> bool:
        """Return True if the service or step `name` belongs to this stack."""
        return not self.only or name in self.only

    def check(self) -> None:
        """Raise `StackError` for a value that no stack accepts."""
        known = {*INFRASTRUCTURE, *APPLICATIONS, *STEPS, *worker_names(self.workers)}
        unknown = sorted(set(self.only) - known)
        if unknown:
            message = f"--only {unknown[0]!r}: expected names of {', '.join(sorted(known))}"
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
    """Return the names of workers among `names`: `worker-2` before `worker-10`."""
    workers = (name for name in names if name.startswith(WORKER_PREFIX))
    return sorted(workers, key=lambda name: (len(name), name))


@dataclass(frozen=True, slots=True)
class Context:
    """Description of one stack, from which each service definition is made."""

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
        """Return the Postgres URL for one role, password included."""
        return (
            f"postgresql://{role}:{self.secrets[role]}@{HOST}:{self.ports['postgres']}/{database}"
        )

    def variables(self) -> dict[str, str]:
        """Return the `INVENTORY_*` variables for an operator's commands.

        Commands use the stack's company and rules for sessions, even in another shell. A service
        gets only the variables that it reads; see `variables_of`.
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
        """Return the variables that `service` reads, see `deploy.stack.service_variables`."""
        needs = service_variables(service)
        found = {name: text for name, text in self.variables().items() if name in needs.variables}
        if needs.role:
            found["INVENTORY_DATABASE_URL"] = self.database_url(needs.role)
        return found

    def environment(self, service: str = "", **extra: str) -> dict[str, str]:
        """Return a child's environment: inherited variables, those of `service`, and `extra`.

        Inherited `INVENTORY_*` variables are left out, unless an operator may set them. Without a
        service, the child gets no stack variables except those in `extra`.
        """
        passed_on = _PASSED_ON | POOL if service == "web" else _PASSED_ON
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name in passed_on or not name.startswith("INVENTORY_")
        }
        return inherited | {"PYTHONUNBUFFERED": "1"} | self.variables_of(service) | extra
