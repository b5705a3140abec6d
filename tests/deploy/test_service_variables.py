"""Each service gets the variables that its settings read, and no secret of another service."""

import pytest
from pydantic import SecretStr

from cdc.settings import Connections
from cdc.worker_addresses import WorkerAddresses
from deploy import compose
from deploy.leaks.processes import _OF_VARIABLES
from deploy.stack.bootstrap import ROLES
from deploy.stack.context import APPLICATIONS, Context, Options
from deploy.stack.home import Home
from deploy.stack.runtime import read_environment, write_environment
from deploy.stack.service_variables import (
    DATABASE_URL,
    PREFIX,
    VARIABLES_OF_SERVICES,
    service_variables,
)
from streams.settings import SinkSettings, WorkerSettings
from webui.config.environment import WebEnvironment

SETTINGS = {
    "worker": (WorkerSettings, WorkerAddresses),
    "projector": (SinkSettings,),
    "actuator": (SinkSettings,),
    "archiver": (Connections,),
    "heartbeat": (Connections,),
    "automation": (Connections, WebEnvironment),
    "webhooks": (Connections, WebEnvironment),
    "capture": (Connections,),
    "prover": (Connections, WebEnvironment),
    "web": (Connections, WebEnvironment, WorkerAddresses),
    "seed": (Connections, WebEnvironment),
    "trading": (Connections, WebEnvironment),
    "migrate": (Connections, WebEnvironment),
}
# Variables of `webui.__main__`, which this test can't import without a configured Django.
OF_THE_SERVER = {"WEB_PORT"}
# The secrets of each service: the roles whose password it holds, and tokens by their names.
HELD = {
    "worker": {"query_token"},
    "projector": {"sink_rw"},
    "actuator": {"sink_rw"},
    "archiver": {"archiver"},
    "heartbeat": {"app_rw"},
    "automation": {"app_rw"},
    "webhooks": {"app_rw", "secret_key"},
    "capture": {"app_rw", "connect"},
    "prover": {"app_rw"},
    "web": {"app_rw", "query_token", "secret_key", "connect"},
    "seed": {"app_rw"},
    "trading": {"app_rw"},
    "migrate": {"retail_owner"},
    "postgres": set(),
    "kafka": set(),
}


@pytest.fixture
def stack(tmp_path) -> Context:
    ports = dict.fromkeys(("postgres", "kafka", "kafka_controller", "connect", "web"), 1)
    home = Home(tmp_path / "home")
    home.create()
    return Context(home, Options(), ports, home.secrets())


def process_of(service: str) -> str:
    return "worker-1" if service == "worker" else service


def test_every_service_of_the_project_has_an_entry() -> None:
    assert {*VARIABLES_OF_SERVICES} >= {*APPLICATIONS, "worker", "seed", "trading", "migrate"}
    assert SETTINGS.keys() == VARIABLES_OF_SERVICES.keys()


@pytest.mark.parametrize("service", VARIABLES_OF_SERVICES)
def test_a_service_gets_nothing_that_its_settings_do_not_read(service: str) -> None:
    fields = {field.upper() for cls in SETTINGS[service] for field in cls.model_fields}

    assert {name.removeprefix(PREFIX) for name in VARIABLES_OF_SERVICES[service].variables} <= (
        fields | (OF_THE_SERVER if service == "web" else set())
    )


def test_the_search_for_leaks_covers_every_secret_of_the_settings() -> None:
    found = {
        name.upper()
        for cls in (Connections, WorkerSettings, SinkSettings, WebEnvironment)
        for name, field in cls.model_fields.items()
        if field.annotation is SecretStr
    }

    assert found == {*_OF_VARIABLES, DATABASE_URL}  # a service has one URL, of its own role


@pytest.mark.parametrize("service", HELD)
def test_a_process_holds_its_own_secrets_only(stack: Context, service: str) -> None:
    environment = stack.environment(process_of(service))

    held = {
        name
        for name, secret in stack.secrets.items()
        if any(secret in text for text in environment.values())
    }
    assert held == HELD[service]


def test_a_process_without_an_entry_gets_no_variable_of_the_stack(stack: Context) -> None:
    environment = stack.environment(LC_ALL="C")

    assert environment["LC_ALL"] == "C"
    assert not [name for name in environment if name.startswith(PREFIX)]


@pytest.mark.parametrize("service", [name for name in HELD if name in {*APPLICATIONS, "worker"}])
def test_a_container_holds_the_same_secrets_as_a_local_process(service: str) -> None:
    environment = compose.document()["services"][process_of(service)]["environment"]

    text = " ".join(environment.values())
    variables = {f"{role}": f"{role.upper()}_PASSWORD:" for role in (*ROLES, "postgres")}
    variables |= {name: f"INVENTORY_{name.upper()}:" for name in ("query_token", "secret_key")}
    variables["connect"] = "INVENTORY_CONNECT_PASSWORD:"
    assert {name for name, variable in variables.items() if variable in text} == HELD[service]


def test_roles_of_services_can_log_in_and_are_not_the_owner() -> None:
    roles = {needs.role for needs in VARIABLES_OF_SERVICES.values() if needs.role}
    assert ROLES.keys() > roles
    assert "retail_owner" not in roles
    assert service_variables("worker-12") == VARIABLES_OF_SERVICES["worker"]


def test_a_context_prints_no_secret(stack: Context) -> None:
    assert not any(secret in repr(stack) for secret in stack.secrets.values())


def test_the_environment_file_has_second_factor_roles_and_currency(
    stack: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`inventory people roles` ends the tokens of a person who gets one of these roles."""
    monkeypatch.setenv("INVENTORY_SECOND_FACTOR_ROLES", "buyer")
    monkeypatch.setenv("INVENTORY_CURRENCY", "CHF")
    write_environment(stack.home, stack.variables())

    stored = read_environment(stack.home)

    assert stored["INVENTORY_SECOND_FACTOR_ROLES"] == "buyer"
    assert stored["INVENTORY_CURRENCY"] == "CHF"


def test_the_pages_get_the_addresses_of_a_deployment_behind_a_proxy(
    stack: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without them, Django refuses the host name and marks no cookie as Secure."""
    chosen = {
        "INVENTORY_HTTPS": "true",
        "INVENTORY_ALLOWED_HOSTS": "stock.example.org",
        "INVENTORY_TRUSTED_ORIGINS": "https://stock.example.org",
    }
    for name, text in chosen.items():
        monkeypatch.setenv(name, text)

    assert chosen.items() <= stack.environment("web").items()
    container = compose.document()["services"]["web"]["environment"]
    assert all(container[name].startswith(f"${{{name}:-") for name in chosen)


def test_only_the_pages_get_a_pool_of_connections(
    stack: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "INVENTORY_DATABASE_POOL"
    monkeypatch.setenv(name, "8")

    assert {service for service in APPLICATIONS if name in stack.environment(service)} == {"web"}
    assert stack.environment("web")[name] == "8"
    services = compose.document()["services"]
    container = {key: service.get("environment", {}) for key, service in services.items()}
    assert {key for key, found in container.items() if name in found} == {"web"}
    assert container["web"][name] == f"${{{name}:-0}}"
