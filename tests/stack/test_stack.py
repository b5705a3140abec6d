"""The stack starts, restarts ended parts, and leaves no process or file behind."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from cdc.capture.admin import topic_drift
from cdc.capture.client import client_of
from deploy.stack.ports import is_free
from deploy.stack.processes import alive
from tests.stack.running import RunningStack, run_inventory, start


def test_every_topic_of_the_contract_exists_with_its_settings(stack: RunningStack) -> None:
    assert topic_drift(stack.settings.kafka_bootstrap) == ()


def test_postgres_takes_passwords_by_scram_only(stack: RunningStack) -> None:
    address = stack.settings.database_url.get_secret_value()
    administrator = make_conninfo(
        address, user="postgres", password=stack.home.secrets()["postgres"]
    )
    with psycopg.connect(administrator) as connection:
        methods = connection.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules")
        kept = connection.execute("SELECT DISTINCT left(rolpassword, 14) FROM pg_authid")

        assert methods.fetchall() == [("scram-sha-256",)]
        assert {*kept.fetchall()} <= {("SCRAM-SHA-256$",), (None,)}
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(make_conninfo(administrator, password="wrong"))  # noqa: S106 -- the point


def test_status_names_every_service_with_its_state(stack: RunningStack) -> None:
    running = dict.fromkeys(stack.runtime.services, "running")
    capturing = {"connector": "RUNNING", "task": "RUNNING"}

    def all_run() -> bool:
        """Return True if all services run. Earlier tests may have killed some of them."""
        result = stack.cli("status", "--json")
        found = json.loads(result.stdout)
        services = {name: service["state"] for name, service in found["services"].items()}
        return (result.returncode, services) == (0, running) and (
            capturing.items() <= found["connector"].items()
        )

    stack.wait_until(all_run, describe=lambda: stack.cli("status").stdout)


@pytest.mark.skipif(
    not Path("/proc/self/autogroup").exists(), reason="the kernel has no groups of sessions"
)
def test_workers_and_archiver_leave_cpu_time_to_the_projector(stack: RunningStack) -> None:
    def niceness(service: str) -> list[str]:
        """Return the nice values of the process and its session, or nothing while it restarts."""
        process = Path(f"/proc/{stack.runtime.services[service].pid}")
        try:
            session = (process / "autogroup").read_text().split()[-1]
            return [(process / "stat").read_text().rpartition(")")[2].split()[16], session]
        except FileNotFoundError:
            return []

    added = {"projector": 0, "worker-1": 1, "archiver": 10}
    wanted = {name: [str(os.nice(0) + value), str(value)] for name, value in added.items()}
    stack.wait_until(lambda: {service: niceness(service) for service in wanted} == wanted)


def test_a_killed_connect_is_restarted_and_counted(stack: RunningStack) -> None:
    before = stack.runtime.services["connect"]
    assert before.pid is not None

    os.kill(before.pid, signal.SIGKILL)

    after = stack.wait_until(
        lambda: (
            entry
            if (entry := stack.runtime.services["connect"]).pid not in (None, before.pid)
            else None
        )
    )
    assert after is not None
    assert after.restarts == before.restarts + 1

    with closing(client_of(stack.environment, timeout_s=30)) as client:
        stack.wait_until(lambda: client.state().running, client.state)


@pytest.fixture(scope="module")
def small_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("small") / "home"
    yield home
    run_inventory("down", home=home)


@pytest.fixture
def postgres_only(small_home: Path) -> RunningStack:
    """A stack of Postgres alone. Each test starts it if another one has stopped or deleted it."""
    return start(small_home, "--only", "postgres")


def test_down_leaves_no_process_and_no_port_and_up_takes_the_same_port(
    postgres_only: RunningStack,
) -> None:
    home = postgres_only.home.path
    running = postgres_only.runtime
    port = running.services["postgres"].port
    assert port is not None

    first = run_inventory("down", home=home)

    assert first.returncode == 0
    assert not any(map(alive, (running.supervisor, *running.children())))
    assert is_free(port)
    again = start(home, "--only", "postgres").runtime.services["postgres"].port
    assert again == port


def test_children_die_with_a_killed_supervisor_and_up_starts_again(
    postgres_only: RunningStack,
) -> None:
    home = postgres_only.home.path
    running = postgres_only.runtime

    os.kill(running.supervisor_pid, signal.SIGKILL)

    postgres_only.wait_until(lambda: not any(map(alive, running.children())))
    restarted = start(home, "--only", "postgres")
    assert restarted.runtime.services["postgres"].port == running.services["postgres"].port


def test_reset_needs_yes_and_deletes_the_home_only(postgres_only: RunningStack) -> None:
    home = postgres_only.home.path
    neighbour = home.parent / "neighbour"
    neighbour.write_text("mine")

    refused = run_inventory("reset", home=home)
    done = run_inventory("reset", "--yes", home=home)

    assert (refused.returncode, done.returncode) == (1, 0)
    assert "inventory reset --yes" in refused.stderr
    assert not home.exists()
    assert neighbour.read_text() == "mine"
