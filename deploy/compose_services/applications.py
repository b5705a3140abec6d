"""The project's own services in `docker-compose.yml`, and the variables of each."""

from typing import Any, Final

from pydantic_settings import BaseSettings

from cdc.cpu_share import ARCHIVER, PROVER, SHARES, WORKER
from deploy.compose_services.fields import (
    KAFKA,
    RESTART,
    database_url,
    health,
    image_build,
    optional,
    secret,
)
from deploy.stack.bootstrap import ROLES
from deploy.stack.context import (
    APPLICATIONS,
    COMPANY,
    POOL,
    PUBLIC,
    SESSIONS,
    TUNING_VARIABLES,
    WEBHOOKS,
    WORKER_MODULE,
)
from deploy.stack.service_variables import service_variables
from deploy.variables import PREFIX
from streams.settings import SinkSettings, WorkerSettings
from webui.config.environment import WebEnvironment

_WORKER_PORT: Final = 6066
WORKERS: Final = ("worker-1", "worker-2")
_WEB_PORT: Final = 8000
# An empty hour turns proofs off. So compose must use the default 3 only for an unset variable: `-`
# does that. `:-` would also replace an empty value.
_PROOF_HOUR: Final = {"INVENTORY_PROOF_HOUR": "${INVENTORY_PROOF_HOUR-3}"}
_LOG_LEVEL: Final = "INVENTORY_LOG_LEVEL"


def _application(name: str, module: str, **extra: str) -> dict[str, Any]:
    return {
        "image": "retail-inventory:local",
        "command": ["python", "-m", module],
        "environment": variables_of(name) | {_LOG_LEVEL: optional(_LOG_LEVEL, "INFO")} | extra,
        "volumes": ["inventory:/var/lib/inventory"],
        "depends_on": {"setup": {"condition": "service_completed_successfully"}},
        "restart": RESTART,
    }


def _guarded(name: str, service: dict[str, Any]) -> dict[str, Any]:
    """Return `service` with `deploy.guard` as its command. The guard runs the original command."""
    return service | {"command": ["python", "-m", "deploy.guard", name, "--", *service["command"]]}


def variables() -> dict[str, str]:
    """Return all `INVENTORY_*` variables, for operators' commands.

    A service gets only the variables that it reads (`variables_of`).
    """
    return {
        "INVENTORY_HOME": "/var/lib/inventory",
        "INVENTORY_KAFKA_BOOTSTRAP": KAFKA,
        "INVENTORY_CONNECT_URL": "http://connect:8083",
        "INVENTORY_CONNECT_PASSWORD": secret("INVENTORY_CONNECT_PASSWORD"),
        "INVENTORY_DATABASE_URL": database_url("app_rw"),
        "INVENTORY_SINK_DATABASE_URL": database_url("sink_rw"),
        "INVENTORY_READ_DATABASE_URL": database_url("app_ro"),
        "INVENTORY_QUERY_TOKEN": secret("INVENTORY_QUERY_TOKEN"),
        "INVENTORY_SECRET_KEY": secret("INVENTORY_SECRET_KEY"),
    }


def variables_of(name: str) -> dict[str, str]:
    """Return the variables that one service reads, as in the local stack."""
    needs = service_variables(name)
    found = {key: text for key, text in variables().items() if key in needs.variables}
    if needs.role:
        found["INVENTORY_DATABASE_URL"] = database_url(needs.role)
    return found


def process(name: str, module: str) -> dict[str, Any]:
    """Return the definition of a service that runs `module` under `deploy.guard`.

    It is for services that need no port and no health check.
    """
    extra = {
        "projector": _chosen(TUNING_VARIABLES, SinkSettings),
        "actuator": _chosen(TUNING_VARIABLES, SinkSettings),
        "automation": _chosen(COMPANY),
        "prover": _PROOF_HOUR,
    }
    niceness = {"archiver": ARCHIVER, "prover": PROVER}.get(name)
    share = {} if niceness is None else {"cpu_shares": SHARES[niceness]}
    return _guarded(name, _application(name, module, **extra.get(name, {}))) | share


def setup() -> dict[str, Any]:
    """Return the one-shot service that creates database, topics and connector.

    Its definition also has the build of the image that all services use.
    """
    roles = ("postgres", *ROLES)
    service = _application(
        "setup",
        "deploy.container.setup",
        INVENTORY_HOME="/var/lib/inventory",
        INVENTORY_KAFKA_BOOTSTRAP=KAFKA,
        INVENTORY_CONNECT_URL="http://connect:8083",
        INVENTORY_CONNECT_PASSWORD=secret("INVENTORY_CONNECT_PASSWORD"),
        INVENTORY_OWNER_DATABASE_URL=database_url("retail_owner"),
        POSTGRES_HOST="postgres",
        **{f"{role.upper()}_PASSWORD": secret(f"{role.upper()}_PASSWORD") for role in roles},
    )
    service["build"] = image_build("app")
    service["depends_on"] = {
        name: {"condition": "service_healthy"} for name in ("postgres", "kafka", "connect")
    }
    service["restart"] = "on-failure"
    return service


def generation() -> dict[str, Any]:
    """Return the service that captures all rows again: `docker compose run --rm generation`."""
    service = setup()
    del service["build"]
    command = ["python", "-m", "deploy.container.generation"]
    return service | {"command": command, "profiles": ["generation"], "restart": "no"}


def tools() -> dict[str, Any]:
    """Return the service for operators: `docker compose run --rm tools inventory verify`."""
    service = _application("tools", "deploy.cli.main")
    chosen = _chosen(COMPANY | SESSIONS | WEBHOOKS)
    service["environment"] = variables() | {"INVENTORY_WORKER_URLS": worker_urls()} | chosen
    return service | {
        "command": ["inventory", "--help"],
        "profiles": ["tools"],
        "restart": "no",
    }


def worker_urls() -> str:
    """Return the comma-separated URLs of the workers. Pages and other workers query these URLs."""
    return ",".join(f"http://{name}:{_WORKER_PORT}" for name in WORKERS)


def worker(name: str) -> dict[str, Any]:
    """Return the service of one stream worker."""
    service = _application(
        name,
        WORKER_MODULE,
        INVENTORY_WORKER_ID=name,
        INVENTORY_WORKER_HOST="0.0.0.0",  # noqa: S104 -- inside the compose network
        INVENTORY_WORKER_PORT=str(_WORKER_PORT),
        INVENTORY_WORKER_URLS=worker_urls(),
        **_chosen(TUNING_VARIABLES, WorkerSettings),
    )
    url = f"http://localhost:{_WORKER_PORT}/readyz"
    return _guarded(name, service) | {
        "healthcheck": health("CMD", "curl", "-fsS", url),
        "cpu_shares": SHARES[WORKER],
    }


def web() -> dict[str, Any]:
    """Return the service of the pages.

    Its port is published on loopback only, because a proxy on this machine must terminate TLS.
    """
    service = _application(
        "web",
        APPLICATIONS["web"],
        INVENTORY_WEB_HOST="0.0.0.0",  # noqa: S104 -- inside the compose network
        INVENTORY_WEB_PORT=str(_WEB_PORT),
        INVENTORY_WORKER_URLS=worker_urls(),
        **_chosen(COMPANY | POOL | PUBLIC | SESSIONS | WEBHOOKS),
    )
    url = f"http://localhost:{_WEB_PORT}/readyz"
    return _guarded("web", service) | {
        "healthcheck": health("CMD", "curl", "-fsS", url),
        "ports": [f"127.0.0.1:8080:{_WEB_PORT}"],
    }


def webhooks() -> dict[str, Any]:
    """Return the service that sends webhooks."""
    chosen = _chosen(WEBHOOKS | {"INVENTORY_CURRENCY"})
    service = _application(
        "webhooks",
        APPLICATIONS["webhooks"],
        INVENTORY_WEBHOOK_METRICS_HOST="0.0.0.0",  # noqa: S104 -- inside the compose network
        INVENTORY_WEBHOOK_METRICS_PORT=str(_WORKER_PORT),  # Prometheus uses one port for all
        **chosen,
    )
    return _guarded("webhooks", service)


def _chosen(names: frozenset[str], settings: type[BaseSettings] = WebEnvironment) -> dict[str, str]:
    """Return a compose reference for each variable in `names` that the class `settings` reads.

    If .env doesn't set a variable, compose uses the default of the field in this class.
    """
    fields = settings.model_fields
    read = {name: fields.get(name.removeprefix(PREFIX).lower()) for name in sorted(names)}
    return {
        name: optional(name, str(field.default))
        for name, field in read.items()
        if field is not None
    }
