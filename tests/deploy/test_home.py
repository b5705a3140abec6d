"""A home keeps its ports and secrets. Other accounts can't read the secrets."""

import json
import os
import re
import shlex
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from cdc.settings import Connections
from deploy.errors import StackError
from deploy.stack import ports
from deploy.stack.context import TUNING_VARIABLES, Context, Options
from deploy.stack.generation import captured, generation_of, move_away
from deploy.stack.home import PROJECT, Home
from deploy.stack.ports import choose_ports, free_port, is_free
from deploy.stack.processes import start_ticks
from deploy.stack.requested import read_requested
from deploy.stack.runtime import (
    Runtime,
    environment_of,
    load_environment,
    read_runtime,
    write_environment,
    write_runtime,
)
from deploy.stack.services import kafka
from streams.settings import SinkSettings, WorkerSettings


def context(home: Home) -> Context:
    ports = {"postgres": 1, "kafka": 2, "kafka_controller": 3, "connect": 4, "web": 5}
    return Context(home, Options(), ports, home.secrets())


def test_secrets_are_made_once_and_closed_to_others(tmp_path) -> None:
    home = Home(tmp_path / "home")
    home.create()

    first = home.secrets()

    assert home.secrets() == first
    assert len(set(first.values())) == len(first)
    assert all(re.fullmatch(r"[\w-]{43}", secret) for secret in first.values())  # 256 bits
    assert stat.S_IMODE((home.path / "secrets.json").stat().st_mode) == 0o600
    assert stat.S_IMODE(home.logs.stat().st_mode) == 0o700


def test_secrets_and_generation_are_on_the_disk_before_they_are_used(tmp_path, monkeypatch) -> None:
    """If a power cut lost the passwords, Postgres would still require them at each login."""
    home = Home(tmp_path / "home")
    home.create()
    steps: list[str] = []
    sync, replace = os.fsync, Path.replace

    def synced(opened: int) -> None:
        steps.append("sync directory" if stat.S_ISDIR(os.fstat(opened).st_mode) else "sync file")
        sync(opened)

    def replaced(staged: Path, target: Path) -> Path:
        steps.append(target.name)
        return replace(staged, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", replaced)
    home.secrets()
    move_away(home, generation_of(home), "")
    captured(home)

    written = ("secrets.json", "generation.json", "generation.json")
    assert steps == [step for name in written for step in ("sync file", name, "sync directory")]


def test_result_directories_of_an_older_home_become_private(tmp_path) -> None:
    home = Home(tmp_path / "home")
    (home.path / "backfill" / "runs").mkdir(mode=0o755, parents=True)

    home.create()

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in home.path.iterdir()}
    assert modes.keys() >= {"archive", "backfill", "former", "revisions", "workers"}
    assert set(modes.values()) == {0o700}


def test_the_kafka_directory_of_an_older_home_becomes_private(tmp_path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    home.kafka.mkdir(mode=0o755)
    (home.kafka / "meta.properties").touch()

    kafka.prepare(context(home))

    assert stat.S_IMODE(home.kafka.stat().st_mode) == 0o700


def test_two_homes_share_no_secret(tmp_path) -> None:
    first, second = Home(tmp_path / "first"), Home(tmp_path / "second")
    first.create()
    second.create()

    assert not {*first.secrets().values()} & {*second.secrets().values()}


def test_ports_are_remembered(tmp_path) -> None:
    file = tmp_path / "ports.json"

    first = choose_ports(file, ("postgres", "kafka"), {})

    assert choose_ports(file, ("postgres", "kafka"), {}) == first


def test_a_remembered_port_that_another_server_has_is_replaced(tmp_path) -> None:
    file = tmp_path / "ports.json"
    first = choose_ports(file, ("postgres",), {})["postgres"]

    with socket.socket() as other:
        other.bind(("127.0.0.1", first))
        other.listen()
        second = choose_ports(file, ("postgres",), {})["postgres"]

    assert second != first
    assert is_free(first)


def test_a_configured_port_is_used_and_zero_means_any_port(tmp_path) -> None:
    wanted = free_port()

    assert choose_ports(tmp_path / "a", ("web",), {"web": wanted})["web"] == wanted
    assert choose_ports(tmp_path / "b", ("web",), {"web": 0})["web"] not in (0, 8080)


def test_two_stacks_that_start_at_the_same_time_get_different_ports(tmp_path, monkeypatch) -> None:
    preferred = free_port()
    program = """
import sys
from pathlib import Path
from deploy.stack import ports
ports.PREFERRED["web"] = int(sys.argv[2])
print(ports.choose_ports(Path(sys.argv[1]), ("web",), {})["web"], flush=True)
sys.stdin.read()
"""
    starting = [
        subprocess.Popen(  # noqa: S603 -- our own module
            [sys.executable, "-c", program, str(tmp_path / name), str(preferred)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT,
        )
        for name in ("a", "b")
    ]

    chosen = [int(process.stdout.readline()) for process in starting if process.stdout]
    for process in starting:
        process.communicate()

    assert preferred in chosen
    assert len(set(chosen)) == 2
    monkeypatch.setattr(ports, "PREFERRED", {"web": preferred})
    assert choose_ports(tmp_path / "c", ("web",), {})["web"] == preferred
    assert choose_ports(tmp_path / "d", ("web",), {})["web"] != preferred


def test_free_port_raises_an_error_if_no_port_is_free() -> None:
    with pytest.raises(StackError, match="no free port between 15000 and 32000"):
        free_port(range(15_000, 32_000))


def test_runtime_shows_no_secret_and_the_environment_file_has_all(tmp_path) -> None:
    home = Home(tmp_path / "home")
    home.create()
    variables = context(home).variables()
    runtime = Runtime()

    write_environment(home, variables)
    write_runtime(home, runtime)

    shown = home.runtime_file.read_text()
    assert json.loads((home.path / "environment.json").read_text()) == variables
    assert not any(secret in shown for secret in home.secrets().values())


def test_the_state_that_the_former_release_wrote_is_read(tmp_path) -> None:
    home = Home(tmp_path)
    write_runtime(home, Runtime(phase="down", ports={"web": 8080}))
    former = json.loads(home.runtime_file.read_text()) | {"env": {}, "connector_restarts": 0}
    home.runtime_file.write_text(json.dumps(former))

    assert read_runtime(home).ports == {"web": 8080}


def test_a_command_without_a_stack_names_the_command_that_starts_one(tmp_path) -> None:
    with pytest.raises(StackError, match="no stack runs") as refused:
        environment_of(Home(tmp_path))

    assert refused.value.repair == "inventory up --detach"


def test_a_command_gets_no_address_of_the_owner(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("os.environ", {})
    home = Home(tmp_path / "home")
    home.create()
    variables = context(home).variables()
    runtime = Runtime("ready", supervisor_pid=os.getpid())
    runtime.supervisor_ticks = start_ticks(os.getpid()) or 0
    write_environment(home, variables)
    write_runtime(home, runtime)

    found = load_environment(home)

    assert found == dict(os.environ)
    assert set(variables) - set(found) == {"INVENTORY_OWNER_DATABASE_URL"}


def test_a_child_gets_no_variable_of_another_stack(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_ARCHIVE", "elsewhere")
    home = Home(tmp_path / "home")
    home.create()

    environment = context(home).environment("worker-1", INVENTORY_WORKER_ID="worker-1")

    assert "INVENTORY_ARCHIVE" not in environment
    assert environment["INVENTORY_HOME"] == str(home.path)
    assert environment["INVENTORY_WORKER_ID"] == "worker-1"


def test_tuning_variables_reach_the_processes_but_address_variables_do_not(
    tmp_path, monkeypatch
) -> None:
    monkeypatch.setenv("INVENTORY_SNAPSHOT_S", "5")
    monkeypatch.setenv("INVENTORY_KAFKA_BOOTSTRAP", "elsewhere:9092")
    home = Home(tmp_path / "home")
    home.create()

    environment = context(home).environment("worker-1")

    assert environment["INVENTORY_SNAPSHOT_S"] == "5"
    assert environment["INVENTORY_KAFKA_BOOTSTRAP"] == "127.0.0.1:2"


def test_company_name_and_currency_reach_the_processes(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("INVENTORY_COMPANY_NAME", "Nordlicht GmbH")
    monkeypatch.setenv("INVENTORY_CURRENCY", "CHF")

    environment = context(Home(tmp_path)).environment()

    assert environment["INVENTORY_COMPANY_NAME"] == "Nordlicht GmbH"
    assert environment["INVENTORY_CURRENCY"] == "CHF"


def test_tuning_variables_are_the_settings_of_workers_and_sinks() -> None:
    streaming = {*WorkerSettings.model_fields, *SinkSettings.model_fields}
    of_the_stack = {*Connections.model_fields, "worker_id", "worker_host", "worker_port"}

    assert {f"INVENTORY_{name.upper()}" for name in streaming - of_the_stack} == TUNING_VARIABLES


@pytest.mark.parametrize("read", [read_runtime, read_requested])
def test_the_repair_of_a_damaged_file_has_its_path_in_quotes(read, tmp_path) -> None:
    home = Home(tmp_path / "two words")
    home.create()
    for name in ("runtime.json", "wanted.json"):
        (home.path / name).write_text("{")

    with pytest.raises(StackError) as refused:
        read(home)

    command, _, _ = refused.value.repair.partition("  # ")
    assert [Path(word).parent for word in shlex.split(command)[1:]] == [home.path]
