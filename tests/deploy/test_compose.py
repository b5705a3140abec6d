"""docker-compose.yml is up to date, holds no secret, and has the settings of the local stack."""

import re
import shlex
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy import compose
from deploy.artifacts.fetch import Artifacts
from deploy.compose_services import applications, infrastructure
from deploy.container.setup import STOP
from deploy.parts import BROKER, CONNECT, LOCAL_BROKER, LOCAL_CONNECT
from deploy.stack.context import APPLICATIONS, TUNING_VARIABLES, Context, Options
from deploy.stack.home import PROJECT, Home
from deploy.stack.services import connect, kafka, postgres
from streams.settings import SinkSettings, WorkerSettings
from tests.house.sources import PACKAGES

OURS = "retail-inventory:local"
# Settings that contain only addresses and directories. They differ between stack and containers.
ADDRESSES = {
    "controller.quorum.bootstrap.servers",
    "listeners",
    "advertised.listeners",
    "log.dirs",
    "bootstrap.servers",
    "plugin.path",
}


@pytest.fixture
def parsed() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load(compose.FILE.read_text(encoding="utf-8"))
    return services


@pytest.fixture
def local(tmp_path: Path) -> Context:
    ports = {"kafka": 1, "kafka_controller": 2, "connect": 3, "postgres": 4, "web": 5}
    passwords = dict.fromkeys(("postgres", "cdc", "connect"), "x")
    passwords |= dict.fromkeys(("retail_owner", "app_rw", "sink_rw", "archiver", "app_ro"), "x")
    passwords |= dict.fromkeys(("query_token", "secret_key"), "x")
    return Context(Home(tmp_path), Options(), ports, passwords, Artifacts(tmp_path), "/bin/java")


def test_the_compose_file_equals_the_output_of_its_generator() -> None:
    assert compose.FILE.read_text(encoding="utf-8") == compose.render(), "run `make docs`"


def test_the_broker_has_the_settings_of_the_local_one(
    parsed: dict[str, Any], local: Context
) -> None:
    environment = parsed["services"]["kafka"]["environment"]
    expected = {
        name: value
        for name, value in kafka.server_properties(local).items()
        if name not in ADDRESSES | LOCAL_BROKER.keys()
    }

    assert BROKER.items() <= expected.items()
    assert {name: environment[infrastructure.kafka_variable(name)] for name in expected} == expected


def test_connect_has_the_settings_of_the_local_one(parsed: dict[str, Any], local: Context) -> None:
    environment = parsed["services"]["connect"]["environment"]
    expected = {
        name: value
        for name, value in connect.worker_properties(local).items()
        if name not in ADDRESSES | LOCAL_CONNECT.keys()
    }

    assert expected == CONNECT
    assert {
        name: environment[infrastructure.connect_variable(name)] for name in expected
    } == expected


def test_postgres_has_the_settings_of_the_local_one(parsed: dict[str, Any], local: Context) -> None:
    contained = set(parsed["services"]["postgres"]["command"][2::2])

    assert contained <= set(postgres.service(local).command)


def test_topics_and_connector_come_from_the_functions_of_the_local_stack() -> None:
    source = (PROJECT / "deploy/container/setup.py").read_text(encoding="utf-8")

    assert "create_topics(" in source
    assert "capture.capture(" in source


def test_every_limit_of_the_env_file_reaches_the_services_that_read_it(
    parsed: dict[str, Any],
) -> None:
    readers: dict[str, type[WorkerSettings | SinkSettings]] = {
        "worker-1": WorkerSettings,
        "worker-2": WorkerSettings,
        "projector": SinkSettings,
        "actuator": SinkSettings,
    }

    for service, settings in readers.items():
        found = parsed["services"][service]["environment"]
        for name in TUNING_VARIABLES:
            field = settings.model_fields.get(name.removeprefix("INVENTORY_").lower())
            if field is not None:
                assert found[name] == f"${{{name}:-{field.default}}}"


def test_every_process_logs_at_the_level_of_the_env_file(parsed: dict[str, Any]) -> None:
    for service in ("worker-1", *APPLICATIONS):
        found = parsed["services"][service]["environment"]
        assert found["INVENTORY_LOG_LEVEL"] == "${INVENTORY_LOG_LEVEL:-INFO}"


def test_the_tools_container_gets_the_roles_that_need_a_second_factor(
    parsed: dict[str, Any],
) -> None:
    """`inventory people roles` ends the tokens of a person who gets one of these roles."""
    services = parsed["services"]
    for name in ("INVENTORY_SECOND_FACTOR_ROLES", "INVENTORY_CURRENCY", "INVENTORY_TIME_ZONE"):
        expected = services["web"]["environment"][name]
        assert services["tools"]["environment"][name] == expected


def test_every_process_of_the_project_is_a_service(parsed: dict[str, Any]) -> None:
    services = parsed["services"]
    ours = {name: s for name, s in services.items() if s["image"] == OURS and name != "tools"}
    modules = {service["command"][-1] for service in ours.values()}

    one_shots = {"deploy.container.setup", "deploy.container.generation"}
    assert modules == {*APPLICATIONS.values(), "streams.worker", *one_shots}


def test_the_generation_service_has_the_environment_of_setup_and_its_own_profile(
    parsed: dict[str, Any],
) -> None:
    setup, generation = parsed["services"]["setup"], parsed["services"]["generation"]

    assert generation["environment"] == setup["environment"]
    assert (generation["profiles"], generation["restart"]) == (["generation"], "no")
    stopped = set(STOP.removeprefix("docker compose stop ").split())
    guarded = {n for n, s in parsed["services"].items() if "deploy.guard" in s.get("command", ())}
    assert stopped == guarded


def test_commands_of_an_operator_have_a_container_that_no_service_shares(
    parsed: dict[str, Any],
) -> None:
    tools, setup = parsed["services"]["tools"], parsed["services"]["setup"]

    assert tools["profiles"] == ["tools"]
    assert tools["environment"].items() >= applications.variables().items()
    owner = {name for name in tools["environment"] if "OWNER" in name}
    assert not owner
    assert "INVENTORY_OWNER_DATABASE_URL" in setup["environment"]


def test_a_spark_worker_has_the_python_and_the_packages_of_the_driver(
    parsed: dict[str, Any],
) -> None:
    image = (PROJECT / "deploy/container/Dockerfile").read_text(encoding="utf-8")
    worker, driver = (parsed["services"][name]["build"] for name in ("spark-worker", "setup"))

    assert (worker["target"], driver["target"]) == ("spark", "app")
    assert worker["dockerfile"] == driver["dockerfile"] == "deploy/container/Dockerfile"
    assert re.findall(r"^FROM (\S+) AS (\S+)$", image, re.MULTILINE)[1:] == [
        ("python:3.11-slim-bookworm", "app"),
        ("app", "spark"),
    ]
    assert worker["args"]["SPARK_IMAGE"].endswith(f":{version('pyspark')}")


def test_an_image_has_run_time_requirements_by_hash_and_no_history_or_tests() -> None:
    image = (PROJECT / "deploy/container/Dockerfile").read_text(encoding="utf-8")
    left_out = (PROJECT / ".dockerignore").read_text(encoding="utf-8").split()
    copied = re.findall(r"^COPY (?!--from)(\S+) ", image, re.MULTILINE)
    installs = re.findall(r"pip install (.*)", image)

    assert {".git", "tests"} <= {*left_out}
    assert {*copied} <= {
        "requirements/",
        "pyproject.toml",
        *(f"{package}/" for package in PACKAGES),
    }
    assert "requirements/dev.txt" not in image
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)
    assert len(installs) == 3
    assert re.search(r"^USER inventory$", image, re.MULTILINE)


def test_every_secret_is_a_reference_that_the_example_names(parsed: dict[str, Any]) -> None:
    example = (PROJECT / ".env.example").read_text(encoding="utf-8")
    named = set(re.findall(r"^#?([A-Z_]+)=", example, re.MULTILINE))

    for service in parsed["services"].values():
        for name, value in service.get("environment", {}).items():
            if re.search("PASSWORD|TOKEN|SECRET|DATABASE_URL", name):
                found = re.findall(r"\$\{([A-Z_]+):\?", value)
                assert found, name
                assert set(found) <= named


def test_the_password_of_connect_is_a_file_that_the_probe_reads(parsed: dict[str, Any]) -> None:
    connect = parsed["services"]["connect"]
    files = {entry["target"]: parsed["configs"][entry["source"]] for entry in connect["configs"]}
    reference = "${INVENTORY_CONNECT_PASSWORD:?set INVENTORY_CONNECT_PASSWORD in .env}"

    probe = shlex.split(connect["healthcheck"]["test"][1])
    assert files[probe[probe.index("--netrc-file") + 1]]["content"].endswith(f"{reference}\n")
    assert f"={reference}\n" in files["/etc/connect/credentials.properties"]["content"]
    assert "/etc/connect/credentials.properties" in files["/etc/connect/login.conf"]["content"]
    assert connect["environment"]["KAFKA_OPTS"].endswith("/etc/connect/login.conf")
    assert "INVENTORY_CONNECT_PASSWORD" not in str(connect)


def test_references_between_services_and_volumes_resolve(parsed: dict[str, Any]) -> None:
    services, volumes = parsed["services"], parsed["volumes"]

    for name, service in services.items():
        assert set(service.get("depends_on", ())) <= services.keys(), name
        assert {v.split(":")[0] for v in service.get("volumes", ())} <= volumes.keys(), name
        assert service.get("image"), name


def test_long_running_parts_have_health_checks(parsed: dict[str, Any]) -> None:
    checked = {name for name, service in parsed["services"].items() if "healthcheck" in service}

    assert checked >= {"postgres", "kafka", "connect", "worker-1", "worker-2", "web"}
